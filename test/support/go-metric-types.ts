/** The metrics of the Go aggregator and their types, in the order of its exposition, as its dashboards know them. */
export const GO_METRIC_TYPES = [
  'agg_sigs_latency_ms gauge',
  'agg_sigs_req_count counter',
  'app_request_count counter',
  'failures_to_get_validator_set counter',
  'failures_to_connect_to_sufficient_stake counter',
  'failures_sending_to_node counter',
  'validator_timeouts counter',
  'invalid_signature_responses counter',
  'signature_cache_hits counter',
  'signature_cache_misses counter',
  'connected_stake_weight_percentage gauge',
];
