"""Models learned from a stream: of partial matches, of events, and of the time that work takes.

`transitions/`, partial matches (pSPICE):

- observations: the matcher's messages to the model builder, for all models.
- trainer: sums of counts to models of partial matches and of latency.
- markov: the transition matrix, the probability to complete, the time still needed.
- transition_costs: the time of a transition, fitted from the times of whole blocks.
- ages: corrections for time waited and matches before, which a Markov chain does not know.
- model: the published models of partial matches and of latency: content, encoding, checks.
- partial_match: the utilities of partial matches over all queries, for the shedder.
- trials, proving: tests of a model's order on partial matches that it was not learned from.
- drift: the test whether counts have moved from those of a model.
- latency: f, the time of an event beside n partial matches; g, the time to shed some of n.

`features/`, features of events (gSPICE, eSPICE):

- features: the specification of features.
- choosing: the features of a stream, chosen by its queries (asked_features, event_conditions).
- feature_columns: the numbers in a block's columns that features are made of.
- feature_keys: the key and the vector of each event (feature_kernel, zobrist).
- feature_counts: counts of events and matches by features (list_sample: a sample of matches).
- event_model: the model of events, and its look-ups (key_table, by_slot).
- contributions: rates at which events are part of matches.
- forest: the trees of gspice-tree and gspice-forest as flat arrays.
- curve: thresholds of utility, and the loss at each.

`events/`, training and use of models of events:

- event_trainer: counts to an event_model.
- event_times: the time that dropping an event saves.
- event_refusals: the worth of events that a NOT refuses by.
- position_curve: the utility by kind and position (espice).
- validation: the loss of a curve on matches that it was not learned from.
- event_arrays, event_record: the model as flat arrays, and as records of the topic `models`.
- event_shedding: the events of a block to drop for a wanted share.

For all models:

- reader: records of the topic `models` to models (`records.envelope` seals the records).
- bodies: counts as JSON and back, for the builder's checkpoint.
"""
