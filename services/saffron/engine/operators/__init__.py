"""The parts that operators share: controls, standing queries, containment of failures, ids of results."""
