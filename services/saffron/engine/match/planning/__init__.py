"""The choice of the engine that runs a match plan, from the plan and the schema alone, with its reason."""
