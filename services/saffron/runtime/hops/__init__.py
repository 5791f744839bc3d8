"""Parts shared by all services that read partitions: per-partition chains, claims, block readers, input incidents."""
