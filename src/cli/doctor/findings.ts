import { Value } from 'typebox/value';
import { findNetworkProblem } from '../../network/network-id.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { NODE_ADVICE } from '../probes/api-checks.ts';
import { type CheckedCall, describeFailure, mayPass } from '../probes/check.ts';
import type { CheckedEndpoint, CheckedNetwork, Facts } from '../probes/facts.ts';
import { DoctorReport, type FindingReport, type SubnetReport } from '../probes/report.ts';

type Severity = FindingReport['severity'];
const SEVERITIES: readonly Severity[] = ['problem', 'passing', 'warning', 'note'];

/** The service waits this long for one attempt. */
const ATTEMPT_MS = 4_000;
/** A node near by answers within some milliseconds. */
const SLOW_MS = 1_000;
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
    ...findingsOfOthers(network),
    // Validators of another network refuse all connections.
    ...(findingsOfIDs(network).length > 0
      ? []
      : network.subnets.flatMap((subnet) => findingsOfSubnet(subnet, network, facts))),
  ];
}

/** Endpoints of a list serve in place of each other. */
function findingsOfOthers({ name, others }: CheckedNetwork): FindingReport[] {
  const listOf = (place: string): string => place.replace(/\[\d+\]$/, '');
  return Array.from(Map.groupBy(others, (other) => other.name)).flatMap(([place, calls]) => {
    const served = others.filter((other) => listOf(other.name) === listOf(place) && isWorking(other));
    return findingsOfCalls(`${name} ${place}`, calls, new Set(served.map(({ method }) => method)));
  });
}

/** Returns the severity of what fails with the endpoints, which may answer later. */
function passesIn({ endpoints }: CheckedNetwork): Severity {
  return severityOf(
    'problem',
    endpoints.flatMap(({ calls }) => calls.filter(hasFailed)),
  );
}

function severityOf(severity: Severity, failed: readonly CheckedCall[]): Severity {
  return severity === 'problem' && failed.length > 0 && failed.every(mayPass) ? 'passing' : severity;
}

function findingsOfEndpoints(network: CheckedNetwork): FindingReport[] {
  const { name, endpoints } = network;
  const serving = endpoints.filter(servesSets);
  const findings = endpoints.flatMap((endpoint) => findingsOfEndpoint(endpoint, network, serving.length > 0));
  if (serving.length > 0) return [...findings, ...findingsOfHeights(name, serving)];
  // Endpoints that serve no call, or no proposed height, are findings already.
  const failed = endpoints
    .filter(knowsHeight)
    .flatMap(({ heights }) => heights.filter(hasFailed))
    .at(0);
  if (failed === undefined) return findings;
  const text = `no endpoint serves the validator set at the proposed height: nothing can be signed (${failed.method}: ${describeFailure(failed)})`;
  return [...findings, finding(mayPass(failed) ? 'passing' : 'problem', name, text, NODE_ADVICE)];
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
    const text = `numeric heights are refused (${height?.method}: ${height?.words}): sets are read by "proposed", and requests that name another height or need the epoch of a destination fail`;
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
  const failed = calls.filter(hasFailed);
  const [first] = failed;
  if (first !== undefined && !calls.some(isWorking)) {
    const isElsewhere = areSetsServed && network.problem === undefined;
    const severity = isElsewhere ? 'warning' : severityOf('problem', failed);
    const advice =
      severity === 'passing' ? 'wait, or add another endpoint' : 'check its address and key, or replace it';
    return [finding(severity, subject, `it serves no call: ${describeFailure(first)}`, first.fault?.cure ?? advice)];
  }
  const served = new Set(
    network.endpoints.flatMap((endpoint) => endpoint.calls.filter(isWorking).map(({ method }) => method)),
  );
  return [...findingsOfCalls(subject, calls, served), ...findingsOfSlowCalls(subject, calls)];
}

/** @param served methods that another endpoint serves: an endpoint that refuses them takes nothing away */
function findingsOfCalls(
  subject: string,
  calls: readonly CheckedCall[],
  served: ReadonlySet<string> = new Set(),
): FindingReport[] {
  const failed = calls.filter(hasFailed);
  const missing = failed.filter(({ method }) => !served.has(method));
  const elsewhere = failed.filter(({ method }) => served.has(method)).map(({ method }) => method);
  const isDead = failed.length > 1 && !calls.some(isWorking);
  const [first] = failed;
  if (isDead && first !== undefined && missing.length === 0) {
    const text = `it serves no call, and another endpoint does: ${describeFailure(first)}`;
    return [finding('warning', subject, text, first.fault?.cure ?? first.advice)];
  }
  const groups =
    isDead && first !== undefined ? [{ words: describeFailure(first), group: missing }] : groupByWords(missing);
  return [
    ...groups.map(({ words, group }) => {
      const worst = SEVERITIES.find((one) => group.some((call) => call.severity === one)) ?? 'note';
      const methods = isDead
        ? 'it serves no call'
        : firstOf(
            group.map(({ method }) => method),
            ', ',
          );
      const text = `${methods}: ${words}. Without: ${firstOf(unique(group, 'lost'), '; ')}`;
      return finding(severityOf(worst, group), subject, text, group[0]?.fault?.cure ?? unique(group, 'advice').at(-1));
    }),
    ...(elsewhere.length > 0
      ? [finding('note', subject, `${elsewhere.join(', ')}: only another endpoint serves it`)]
      : []),
  ];
}

/** Single long lists take a while; the others are answered at once by a node near by. */
function findingsOfSlowCalls(subject: string, calls: readonly CheckedCall[]): FindingReport[] {
  const took = (call: CheckedCall): number => (isWorking(call) ? (call.durationMs ?? 0) : 0);
  const sorted = calls.filter(isWorking).toSorted((a, b) => took(b) - took(a));
  const [slowest] = sorted;
  const medianMs = sorted[Math.floor(sorted.length / 2)]?.durationMs ?? 0;
  if (slowest === undefined || (took(slowest) <= ATTEMPT_MS && medianMs <= SLOW_MS)) return [];
  const text = `half of its calls took ${medianMs} ms or longer, and ${slowest.method} ${took(slowest)} ms: requests wait for them, and the service gives up after ${ATTEMPT_MS} ms`;
  return [finding('warning', subject, text, 'name an endpoint nearer to this machine, or a node with less load')];
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
  const known = publicNetworkNamed(name)?.networkID;
  const expected = known ?? networkId;
  return endpoints.flatMap((endpoint) => {
    const { networkId: given } = endpoint;
    if (given === undefined) return [];
    const subject = `${name} ${endpoint.name}`;
    if (given !== expected) {
      const text = `it belongs to network ID ${given}, and ${name} has ${expected}: the service refuses it`;
      return [finding('problem', subject, text, 'replace it by an endpoint of this network')];
    }
    const problem = findNetworkProblem(name, known, given);
    return problem === undefined ? [] : [finding('problem', subject, problem)];
  });
}

function findingsOfClocks({ name, peersClockOffsetMs, endpoints }: CheckedNetwork): FindingReport[] {
  const ofHttp = endpoints.flatMap(({ clockOffsetMs }) => clockOffsetMs ?? []).toSorted((a, b) => a - b);
  const offsetMs = peersClockOffsetMs ?? ofHttp[Math.floor(ofHttp.length / 2)] ?? 0;
  const source = peersClockOffsetMs === undefined ? 'its endpoints' : 'its nodes';
  const text = `the clock of this machine is ${describeOffset(offsetMs)} ${source}`;
  const severity = Math.abs(offsetMs) > REFUSED_CLOCK_MS ? 'problem' : 'warning';
  const own = finding(severity, name, `${text}; nodes refuse a difference of 60 s`, 'synchronise it, such as by NTP');
  return [
    ...(Math.abs(offsetMs) < DOUBTFUL_CLOCK_MS ? [] : [own]),
    ...endpoints.flatMap(({ name: endpoint, clockOffsetMs = offsetMs }) => {
      const otherMs = offsetMs - clockOffsetMs;
      if (Math.abs(otherMs) < DOUBTFUL_CLOCK_MS) return [];
      const words = `its clock is ${describeOffset(otherMs)} ${source}: the other nodes refuse it at 60 s, and its data ages`;
      return [finding('warning', `${name} ${endpoint}`, words, 'synchronise the clock of its node, or replace it')];
    }),
  ];
}

/** @param offsetMs other clocks less the one that is described */
function describeOffset(offsetMs: number): string {
  return `${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs < 0 ? 'ahead of' : 'behind'}`;
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
  // They may admit the NodeID of the service.
  const refusing = listed === undefined ? undefined : missing.find(({ cause }) => cause === 'not_admitted');
  if (reachedPercent < neededPercent) {
    const text = `${reachedPercent} % of the weight is reached, and ${neededPercent} % is needed: ${main?.text ?? 'it has no validators'}`;
    const isCertain = reachedPercent + (refusing?.percent ?? 0) < neededPercent;
    findings.push(finding(isCertain ? 'problem' : 'warning', subject, text, listed));
  } else if (main !== undefined && main.percent >= UNANSWERED_PERCENT) {
    findings.push(finding('note', subject, `${reachedPercent} % of the weight is reached: ${main.text}`, listed));
  }
  findings.push(...findingsOfAnswers(subnet, subject, listed));
  return findings;
}

function findingsOfAnswers(
  { heaviest, reachedPercent = 0, neededPercent }: SubnetReport,
  subject: string,
  listed: string | undefined,
): FindingReport[] {
  const asked = heaviest.filter(({ answer }) => answer.outcome !== 'not_asked');
  const failed = asked.filter(
    ({ answer }) => answer.outcome === 'timed_out' || answer.outcome === 'invalid_signature' || (answer.code ?? 0) < 0,
  );
  const weightOf = (all: SubnetReport['heaviest']): number => all.reduce((sum, one) => sum + one.percent, 0);
  const share = (100 * weightOf(failed)) / (weightOf(asked) || 1);
  const [first] = failed;
  if (first === undefined || share < UNANSWERED_PERCENT) return [];
  const { outcome, words } = first.answer;
  const isQuorumLost = reachedPercent >= neededPercent && reachedPercent - weightOf(failed) < neededPercent;
  const text = `${failed.length} of ${asked.length} asked validators gave no answer that counts (${words ?? outcome})`;
  const more = isQuorumLost ? `: without them less than ${neededPercent} % of the weight signs` : '';
  return [finding(isQuorumLost && listed === undefined ? 'problem' : 'warning', subject, text + more, listed)];
}

function findingsOfMachine({ opened, upstreams, redis, fileDescriptors, identity, networks }: Facts): FindingReport[] {
  const hasTracked = networks.some(({ subnets }) => subnets.some(({ isTracked }) => isTracked));
  return [
    ...[...opened, ...upstreams].flatMap((part) => findingsOfCalls(part.name, [part])),
    ...(redis === undefined ? [] : findingsOfCalls('Redis', [redis])),
    ...findingsOfFiles(fileDescriptors),
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

function findingsOfFiles({ limit, required, needed }: Facts['fileDescriptors']): FindingReport[] {
  if (limit === undefined || limit >= needed) return [];
  const text = `this shell allows ${limit} open files`;
  const raise = (least: number): string =>
    `raise it where the service starts: ulimit -n ${least}, LimitNOFILE=${least} of systemd, or --ulimit nofile=${least} of Docker`;
  return limit < required
    ? [
        finding(
          'problem',
          'file descriptors',
          `${text}, and this configuration needs ${required}, or some validators are not connected`,
          raise(required),
        ),
      ]
    : [
        finding(
          'note',
          'file descriptors',
          `${text}: enough for this configuration, which needs ${required}; with ${needed} it accepts as many clients as it can`,
          raise(needed),
        ),
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

function knowsHeight({ calls }: CheckedEndpoint): boolean {
  return calls.some((call) => call.method === 'platform.getProposedHeight' && isWorking(call));
}

function servesSets(endpoint: CheckedEndpoint): boolean {
  return knowsHeight(endpoint) && endpoint.heights.some((height) => height.depth === 0 && isWorking(height));
}
