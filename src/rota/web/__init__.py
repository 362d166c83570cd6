"""The page: what people see. It renders what operations give, and decides nothing."""
