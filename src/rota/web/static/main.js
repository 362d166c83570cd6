// What every page has: it stays live, its controls work, and the keyboard leads everywhere.
import { start } from "./live.js";
import { listen } from "./controls.js";

listen();
start();
