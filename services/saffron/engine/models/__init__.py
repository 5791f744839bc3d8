"""Models learned from a stream: three families, how they are trained, published and used.

Of partial matches (pSPICE):
observations       what the matcher tells the model builder, of all three families
trainer            from summed counts to models of partial matches, and to those of latency
markov             transition matrix, probability to complete, time still needed
transition_costs   what a transition takes, fitted from the times of whole blocks
ages               what the chain does not know of a partial match: how long it has waited, whether it has matched
model              the models that are published of both: content, encoding, checks
partial_match      the shedder's side: utilities over all queries together

Of events (gSPICE, eSPICE), first the features of an event:
features           which there are, as a specification
choosing           which a stream gets, from what its queries ask: asked_features, event_conditions
feature_columns    the numbers of a block's columns that features are made of
feature_keys       key and vector of each event: feature_kernel, zobrist
feature_counts     what was observed by them; matches as a sample of lists: list_sample
then the training:
event_trainer      from counts to an event_model
contributions      how often events are part of matches
event_times        what dropping an event saves
event_refusals     what events are worth that a NOT refuses by
forest             gspice-tree, gspice-forest: trees as flat arrays
position_curve     espice: by kind and position
curve              thresholds of utility, and what is lost at each; validation: tried on other matches
and what is published and used:
event_model        the model, and its look-ups
event_arrays       the model as flat arrays;  event_record: as records of the topic `models`
event_shedding     which events of a block go at a wanted share: key_table, by_slot

Of work:
latency            how long an event takes beside n partial matches (f), and a shedding of n (g)

Of all:
envelope           a record's seal and version;  reader: records of the topic `models` back to models
drift              whether what is counted now has moved from what a model rests on
bodies             counts as JSON and back, for the builder's checkpoint
"""
