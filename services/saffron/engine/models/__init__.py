"""Models learned from a stream: of partial matches, of events, and of the time that work takes. The files:

Of partial matches (pSPICE), in `transitions/`:
observations       the matcher's messages to the model builder, for all models
trainer            makes models of partial matches and of latency from sums of counts
markov             transition matrix, probability to complete, time still needed
transition_costs   the time that a transition takes, fitted from the times of whole blocks
ages               time waited and matches before: a Markov chain has neither
model              the published models of partial matches and of latency: content, encoding, checks
partial_match      the shedder's side: utilities over all queries together
proving, trials    the order of a model, tried on partial matches that it was not learned from
drift              tells whether the counts have moved from those that a model rests on
latency            f: the time of an event beside n partial matches; g: the time to shed some of n

Features of events (gSPICE, eSPICE), in `features/`:
features           the specification of features
choosing           chooses the features of a stream by its queries: asked_features, event_conditions
feature_columns    the numbers in a block's columns that features are made of
feature_keys       the key and the vector of each event: feature_kernel, zobrist
feature_counts     the counts of events and matches by features; list_sample: a sample of matches
event_model        the model of events, and its look-ups: key_table, by_slot
contributions      how often events are part of matches
forest             gspice-tree, gspice-forest: trees as flat arrays
curve              thresholds of utility, and the loss at each

Training and use of models of events, in `events/`:
event_trainer      makes an event_model from counts
event_times        the time that dropping an event saves
event_refusals     the worth of events that a NOT refuses by
position_curve     espice: utility by kind and position
validation         the loss of a curve, tried on other matches
event_arrays       the model as flat arrays; event_record: as records of the topic `models`
event_shedding     the events of a block that go at a wanted share

Of all:
reader             makes models of the records of the topic `models`; `records.envelope` seals these
bodies             counts as JSON and back, for the builder's checkpoint
"""
