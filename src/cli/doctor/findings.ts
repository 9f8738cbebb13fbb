import { Value } from 'typebox/value';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { NODE_ADVICE } from './api-checks.ts';
import { type CheckedCall, describeFailure } from './check.ts';
import type { CheckedEndpoint, CheckedNetwork, Facts } from './facts.ts';
import { DoctorReport, type FindingReport, type SubnetReport } from './report.ts';

type Severity = FindingReport['severity'];
const SEVERITIES: readonly Severity[] = ['problem', 'passing', 'warning', 'note'];

/** The service waits this long for one attempt. */
const SLOW_MS = 4_000;
/** Nodes refuse a difference of 60 s. */
const REFUSED_CLOCK_MS = 60_000;
const DOUBTFUL_CLOCK_MS = 10_000;
/** Share of the asked weight without an answer that is worth a look. */
const UNANSWERED_PERCENT = 10;

/** Adds the findings, and leaves out the purposes of calls, which the findings have. */
export function completeReport(facts: Facts): DoctorReport {
  return Value.Clean(DoctorReport, structuredClone({ ...facts, findings: findFindings(facts) })) as DoctorReport;
}

/** Names what a report shows, the most severe first, with what to do about it. */
export function findFindings(facts: Facts): FindingReport[] {
  const findings = [
    ...facts.networks.flatMap((network) => findingsOfNetwork(network, facts)),
    ...findingsOfMachine(facts),
  ];
  return findings.toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

function finding(severity: Severity, subject: string, text: string, advice?: string): FindingReport {
  return { severity, subject, text, ...(advice !== undefined && { advice }) };
}

function findingsOfNetwork(network: CheckedNetwork, facts: Facts): FindingReport[] {
  const { name, problem, isDevnet, endpoints } = network;
  const infoApis = endpoints.filter(({ calls }) => calls.some(({ method }) => method === 'info.getNetworkID'));
  return [
    ...(isDevnet
      ? [
          finding(
            'note',
            name,
            'a devnet on this machine: no other network was tried',
            'name one by --config, such as config/fuji.json',
          ),
        ]
      : []),
    ...(problem === undefined || infoApis.every(isDead)
      ? []
      : [finding(passesIn(network), name, `no validator was tried: ${problem}`, 'check infoApi')]),
    ...findingsOfEndpoints(network),
    ...findingsOfIDs(network),
    ...findingsOfClocks(network),
    ...Array.from(
      Map.groupBy(network.others, (other) => other.name),
      ([place, calls]) => findingsOfCalls(`${name} ${place}`, calls),
    ).flat(),
    ...network.subnets.flatMap((subnet) => findingsOfSubnet(subnet, network, facts)),
  ];
}

/** Whether the endpoints may answer later. */
function passesIn({ endpoints }: CheckedNetwork): Severity {
  const failures = endpoints.flatMap(({ calls }) => calls.filter(hasFailed));
  return failures.length > 0 && failures.every(({ outcome }) => outcome === 'unavailable') ? 'passing' : 'problem';
}

function findingsOfEndpoints(network: CheckedNetwork): FindingReport[] {
  const { name, endpoints } = network;
  const serving = endpoints.filter(servesSets);
  const findings = endpoints.flatMap((endpoint) => findingsOfEndpoint(endpoint, network, serving.length > 0));
  if (serving.length > 0) return [...findings, ...findingsOfHeights(name, serving)];
  const text = 'no endpoint serves the validator set at the proposed height: nothing can be signed';
  return [...findings, finding(passesIn(network), name, text, NODE_ADVICE)];
}

/** Heights that no endpoint serves. */
function findingsOfHeights(name: string, serving: readonly CheckedEndpoint[]): FindingReport[] {
  const numeric = serving.flatMap(({ heights }) => heights.filter(({ form }) => form === 'number'));
  const missing = Array.from(Map.groupBy(numeric, ({ depth }) => depth))
    .filter(([, heights]) => heights.every(hasFailed))
    .sort(([a], [b]) => a - b);
  const [first] = missing;
  if (first === undefined) return [];
  const [depth, [height]] = first;
  if (depth === 0) {
    const text = `numeric heights are refused (${height?.words}): sets are read by "proposed", and requests that name another height or need the epoch of a destination fail`;
    return [finding('warning', name, text, NODE_ADVICE)];
  }
  const text = `validator sets ${depth.toLocaleString('en')} heights back, and older ones, are not served: requests for them fail`;
  return [finding(depth <= 10 ? 'warning' : 'note', name, text, NODE_ADVICE)];
}

function findingsOfEndpoint(
  { name, calls }: CheckedEndpoint,
  network: CheckedNetwork,
  areSetsServed: boolean,
): FindingReport[] {
  const subject = `${network.name} ${name}`;
  if (isDead({ calls })) {
    const [first] = calls.filter(hasFailed);
    const severity: Severity = areSetsServed ? 'warning' : first?.outcome === 'unavailable' ? 'passing' : 'problem';
    const text = `it serves no call: ${first === undefined ? 'not tried' : describeFailure(first)}`;
    const advice =
      severity === 'passing' ? 'wait, or add another endpoint' : 'check its address and key, or replace it';
    return [finding(severity, subject, text, advice)];
  }
  const served = new Set(
    network.endpoints.flatMap((endpoint) => endpoint.calls.filter(isWorking).map(({ method }) => method)),
  );
  return findingsOfCalls(subject, calls, served);
}

/** @param served methods that another endpoint serves: an endpoint that refuses them takes nothing away */
function findingsOfCalls(
  subject: string,
  calls: readonly CheckedCall[],
  served: ReadonlySet<string> = new Set(),
): FindingReport[] {
  const failed = calls.filter(hasFailed);
  const elsewhere = failed.filter(({ method }) => served.has(method)).map(({ method }) => method);
  const slow = calls.filter((call) => isWorking(call) && (call.durationMs ?? 0) > SLOW_MS);
  return [
    ...groupByWords(failed.filter(({ method }) => !served.has(method))).map(({ words, group }) => {
      const severity = SEVERITIES.find((one) => group.some((call) => call.severity === one)) ?? 'note';
      const methods = group.map(({ method }) => method);
      const text = `${firstOf(methods, ', ')}: ${words}. Without: ${firstOf(unique(group, 'lost'), '; ')}`;
      return finding(severity, subject, text, unique(group, 'advice').at(-1));
    }),
    ...(elsewhere.length > 0
      ? [finding('note', subject, `${elsewhere.join(', ')}: only another endpoint serves it`)]
      : []),
    ...slow.map(({ method, durationMs, advice }) =>
      finding('warning', subject, `${method} took ${durationMs} ms, and the service waits ${SLOW_MS} ms`, advice),
    ),
  ];
}

function unique(calls: readonly CheckedCall[], field: 'lost' | 'advice'): string[] {
  return [...new Set(calls.map((call) => call[field]))];
}

/** Groups failures that differ by the method alone. */
function groupByWords(calls: readonly CheckedCall[]): { words: string; group: readonly CheckedCall[] }[] {
  return Array.from(
    Map.groupBy(calls, (call) => describeFailure({ ...call, words: call.words?.replaceAll(call.method, '…') ?? '' })),
    ([words, group]) => ({ words: group.length === 1 && group[0] ? describeFailure(group[0]) : words, group }),
  );
}

const MAX_NAMED = 3;

/** The others are in the part about the endpoint. */
function firstOf(texts: readonly string[], separator: string): string {
  const others = texts.length - MAX_NAMED;
  return texts.slice(0, MAX_NAMED).join(separator) + (others > 0 ? `, and ${others} more` : '');
}

function findingsOfIDs({ name, networkId, endpoints }: CheckedNetwork): FindingReport[] {
  const expected = publicNetworkNamed(name)?.networkID ?? networkId;
  return endpoints
    .filter((endpoint) => endpoint.networkId !== undefined && endpoint.networkId !== expected)
    .map((endpoint) => {
      const text = `it belongs to network ID ${endpoint.networkId}, and ${name} has ${expected}: the service refuses it`;
      return finding('problem', `${name} ${endpoint.name}`, text, 'replace it by an endpoint of this network');
    });
}

function findingsOfClocks({ name, peersClockOffsetMs, endpoints }: CheckedNetwork): FindingReport[] {
  const ofHttp = endpoints.flatMap(({ clockOffsetMs }) => clockOffsetMs ?? []).toSorted((a, b) => a - b);
  const offsetMs = peersClockOffsetMs ?? ofHttp[Math.floor(ofHttp.length / 2)] ?? 0;
  if (Math.abs(offsetMs) < DOUBTFUL_CLOCK_MS) return [];
  const source = peersClockOffsetMs === undefined ? 'its endpoints' : 'its nodes';
  const text = `the clock of this machine is ${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs < 0 ? 'ahead of' : 'behind'} ${source}`;
  const severity = Math.abs(offsetMs) > REFUSED_CLOCK_MS ? 'problem' : 'warning';
  return [finding(severity, name, `${text}; nodes refuse a difference of 60 s`, 'synchronise it, such as by NTP')];
}

function findingsOfSubnet(subnet: SubnetReport, network: CheckedNetwork, { identity }: Facts): FindingReport[] {
  const { problem, reachedPercent = 0, neededPercent, missing, isTracked } = subnet;
  const subject = `${network.name} ${subnetName(subnet)}`;
  if (problem !== undefined) {
    // The endpoints are findings already.
    const isExplained = network.problem !== undefined || !network.endpoints.some(servesSets);
    return isExplained ? [] : [finding(passesIn(network), subject, problem, 'see the endpoints')];
  }
  const findings: FindingReport[] = [];
  const [main] = missing;
  const listed =
    isTracked && identity.kind === 'temporary'
      ? 'if it admits only listed nodes, stop the service and run doctor --own-identity, with a NodeID that it lists'
      : undefined;
  if (reachedPercent < neededPercent) {
    const text = `${reachedPercent} % of the weight is reached, and ${neededPercent} % is needed: ${main?.text ?? 'it has no validators'}`;
    findings.push(finding(isTracked ? 'warning' : 'problem', subject, text, listed));
  } else if (main !== undefined && main.percent >= UNANSWERED_PERCENT) {
    findings.push(finding('note', subject, `${reachedPercent} % of the weight is reached: ${main.text}`, listed));
  }
  findings.push(...findingsOfAnswers(subnet, subject, listed));
  return findings;
}

function findingsOfAnswers({ heaviest }: SubnetReport, subject: string, advice: string | undefined): FindingReport[] {
  const asked = heaviest.filter(({ answer }) => answer.outcome !== 'not_asked');
  const failed = asked.filter(
    ({ answer }) => answer.outcome === 'timed_out' || answer.outcome === 'invalid_signature' || (answer.code ?? 0) < 0,
  );
  const weightOf = (all: SubnetReport['heaviest']): number => all.reduce((sum, one) => sum + one.percent, 0);
  const share = (100 * weightOf(failed)) / (weightOf(asked) || 1);
  const [first] = failed;
  if (first === undefined || share < UNANSWERED_PERCENT) return [];
  const { outcome, words } = first.answer;
  const text = `${failed.length} of ${asked.length} asked validators gave no answer that counts (${words ?? outcome})`;
  return [finding('warning', subject, text, advice)];
}

function findingsOfMachine({ upstreams, redis, fileDescriptors, identity, networks }: Facts): FindingReport[] {
  const { limit, needed } = fileDescriptors;
  const hasTracked = networks.some(({ subnets }) => subnets.some(({ isTracked }) => isTracked));
  return [
    ...upstreams.flatMap((upstream) => findingsOfCalls(upstream.name, [upstream])),
    ...(redis === undefined ? [] : findingsOfCalls('Redis', [redis])),
    ...(limit !== undefined && limit < needed
      ? [
          finding(
            'warning',
            'file descriptors',
            `the limit is ${limit}, and up to ${needed} are needed`,
            `raise it: ulimit -n ${needed}`,
          ),
        ]
      : []),
    ...(identity.kind === 'temporary' && hasTracked
      ? [
          finding(
            'note',
            'identity',
            'a temporary NodeID was used, because a second process with the NodeID of the service disturbs it: subnets that admit only listed nodes seem worse than they are',
          ),
        ]
      : []),
  ];
}

export function subnetName({ subnetId, isTracked }: Pick<SubnetReport, 'subnetId' | 'isTracked'>): string {
  return isTracked ? `subnet ${subnetId}` : 'primary network';
}

function hasFailed({ outcome }: Pick<CheckedCall, 'outcome'>): boolean {
  return outcome !== 'works' && outcome !== 'skipped';
}

function isWorking({ outcome }: Pick<CheckedCall, 'outcome'>): boolean {
  return outcome === 'works';
}

function isDead({ calls }: Pick<CheckedEndpoint, 'calls'>): boolean {
  return calls.length > 0 && !calls.some(isWorking);
}

function servesSets({ calls, heights }: CheckedEndpoint): boolean {
  const knowsHeight = calls.some((call) => call.method === 'platform.getProposedHeight' && isWorking(call));
  return knowsHeight && heights.some((height) => height.depth === 0 && isWorking(height));
}
