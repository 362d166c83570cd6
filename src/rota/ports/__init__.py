"""What the inner rooms ask of the outer ones: protocols, and the records that pass through them."""
