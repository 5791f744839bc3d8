"""Which engine runs a match plan, and why: decided from the plan and the stream's schema alone, without any kernel."""
