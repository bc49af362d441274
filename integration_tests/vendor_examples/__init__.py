"""Small examples of what each vendor writes into the warehouse, and of what they come to."""
