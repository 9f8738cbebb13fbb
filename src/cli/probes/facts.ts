import type { CheckedCall } from './check.ts';
import type { DoctorReport, EndpointReport, NetworkReport, OtherReport } from './report.ts';

/** What was tried, from which the findings are made: the report with the purposes of its calls, which it leaves out. */
export interface Facts extends Omit<DoctorReport, 'networks' | 'opened' | 'upstreams' | 'redis' | 'findings'> {
  readonly networks: readonly CheckedNetwork[];
  readonly opened: readonly OpenedPart[];
  readonly upstreams: readonly CheckedPlace[];
  readonly redis?: CheckedCall & { readonly servers: string };
}

export interface CheckedNetwork extends Omit<NetworkReport, 'endpoints' | 'others'> {
  readonly endpoints: readonly CheckedEndpoint[];
  readonly others: readonly CheckedPlace[];
}

export interface CheckedEndpoint extends Omit<EndpointReport, 'calls'> {
  readonly calls: readonly CheckedCall[];
}

/** A call of another API. */
export interface CheckedPlace extends CheckedCall, Pick<OtherReport, 'name' | 'url'> {}

/** A part of this machine that the service opens. */
export interface OpenedPart extends CheckedCall {
  readonly name: string;
}
