import { publicNetworkNamed } from '../../warp/networks.ts';
import type {
  CallOutcome,
  CallReport,
  DoctorReport,
  EndpointReport,
  FindingReport,
  NetworkReport,
  SubnetReport,
} from './report.ts';

type Severity = FindingReport['severity'];
const SEVERITIES: readonly Severity[] = ['problem', 'passing', 'warning', 'note'];

/** The service waits this long for one attempt. */
const SLOW_MS = 4_000;
/** Nodes refuse a difference of 60 s. */
const REFUSED_CLOCK_MS = 60_000;
const DOUBTFUL_CLOCK_MS = 10_000;
/** Share of the asked weight without an answer that is worth a look. */
const UNANSWERED_PERCENT = 10;

const NODE_ADVICE = 'add a node of your own to pChainApi, or another provider';

/** Calls without which everything is signed, with worse texts or later. */
const MINOR_CALLS: ReadonlySet<string> = new Set([
  'platform.getHeight',
  'platform.getTxStatus',
  'platform.getValidatorFeeState',
  'platform.validatedBy',
  'platform.getL1Validator',
  'avm.getTx',
  'info.getNodeVersion',
  'info.peers',
  'info.getNodeID',
  'info.getNodeIP',
]);

type Facts = Omit<DoctorReport, 'findings'>;

/** Names what a report shows, the most severe first, with what to do about it. */
export function findFindings(report: Facts): FindingReport[] {
  const findings = [
    ...report.networks.flatMap((network) => findingsOfNetwork(network, report)),
    ...findingsOfMachine(report),
  ];
  return findings.toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

function finding(severity: Severity, subject: string, text: string, advice?: string): FindingReport {
  return { severity, subject, text, ...(advice !== undefined && { advice }) };
}

function findingsOfNetwork(network: NetworkReport, report: Facts): FindingReport[] {
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
    ...network.others
      .filter(({ outcome }) => outcome !== 'works')
      .map((other) =>
        finding('warning', `${name} ${other.name}`, `${other.method}: ${describe(other)}`, adviceOn(other)),
      ),
    ...network.subnets.flatMap((subnet) => findingsOfSubnet(subnet, network, report)),
  ];
}

/** Whether the endpoints may answer later. */
function passesIn({ endpoints }: NetworkReport): Severity {
  const failures = endpoints.flatMap(({ calls }) =>
    calls.filter(({ outcome }) => outcome !== 'works' && outcome !== 'skipped'),
  );
  return failures.length > 0 && failures.every(({ outcome }) => outcome === 'unavailable') ? 'passing' : 'problem';
}

function findingsOfEndpoints(network: NetworkReport): FindingReport[] {
  const { name, endpoints } = network;
  const pChain = endpoints.filter(isPChain);
  const serving = pChain.filter(servesSets);
  const findings = endpoints.flatMap((endpoint) => findingsOfEndpoint(endpoint, network, serving));
  if (serving.length === 0) {
    findings.push(
      finding(
        passesIn(network),
        name,
        'no endpoint serves the validator set at the proposed height: nothing can be signed',
        NODE_ADVICE,
      ),
    );
    return findings;
  }
  if (!serving.some((endpoint) => serves(endpoint, 0))) {
    const words = serving[0]?.heights.find(({ form, depth }) => form === 'number' && depth === 0)?.words;
    const text = `numeric heights are refused (${words}): sets are read by "proposed", and requests that name another height or need the epoch of a destination fail`;
    findings.push(finding('warning', name, text, NODE_ADVICE));
  } else {
    const missing = depthsOf(serving).find(
      (depth) => depth > 0 && !serving.some((endpoint) => serves(endpoint, depth)),
    );
    if (missing !== undefined) {
      const text = `validator sets ${missing.toLocaleString('en')} heights back, and older ones, are not served: requests for them fail`;
      findings.push(finding(missing <= 10 ? 'warning' : 'note', name, text, NODE_ADVICE));
    }
  }
  return findings;
}

function findingsOfEndpoint(
  endpoint: EndpointReport,
  { name, endpoints }: NetworkReport,
  serving: readonly EndpointReport[],
): FindingReport[] {
  const subject = `${name} ${endpoint.name}`;
  const failed = endpoint.calls.filter(({ outcome }) => outcome !== 'works' && outcome !== 'skipped');
  if (isDead(endpoint)) {
    const [first] = failed;
    const severity: Severity =
      serving.length > 0 ? 'warning' : first?.outcome === 'unavailable' ? 'passing' : 'problem';
    return [
      finding(
        severity,
        subject,
        `it serves no call: ${first === undefined ? 'not tried' : describe(first)}`,
        severity === 'passing' ? 'wait, or add another endpoint' : 'check its address and key, or replace it',
      ),
    ];
  }
  const isElsewhere = (method: string): boolean =>
    endpoints.some(({ calls }) => calls.some((call) => call.method === method && call.outcome === 'works'));
  const alone = failed.filter(({ method }) => !isElsewhere(method));
  const slow = endpoint.calls.filter(({ outcome, durationMs = 0 }) => outcome === 'works' && durationMs > SLOW_MS);
  const elsewhere = failed.filter(({ method }) => isElsewhere(method)).map(({ method }) => method);
  return [
    ...groupByWords(alone).map(({ words, calls }) => {
      const severity = calls.every(({ method }) => MINOR_CALLS.has(method)) ? 'note' : 'warning';
      const lost = firstOf([...new Set(calls.map((call) => call.lost))], '; ');
      const methods = firstOf(
        calls.map(({ method }) => method),
        ', ',
      );
      const isOfInfo = calls.every(({ method }) => method.startsWith('info.'));
      const advice = isOfInfo ? 'name another API in infoApi' : NODE_ADVICE;
      return finding(severity, subject, `${methods}: ${words}. Without: ${lost}`, advice);
    }),
    ...(elsewhere.length > 0
      ? [finding('note', subject, `${elsewhere.join(', ')}: only another endpoint serves it`)]
      : []),
    ...slow.map(({ method, durationMs }) =>
      finding('warning', subject, `${method} took ${durationMs} ms, and the service waits ${SLOW_MS} ms`, NODE_ADVICE),
    ),
  ];
}

function groupByWords(calls: readonly CallReport[]): { words: string; calls: readonly CallReport[] }[] {
  return Array.from(
    Map.groupBy(calls, (call) => describe({ ...call, words: call.words?.replaceAll(call.method, '…') })),
    ([words, all]) => ({ words: all.length === 1 && all[0] ? describe(all[0]) : words, calls: all }),
  );
}

const MAX_NAMED = 3;

/** The others are in the part about the endpoint. */
function firstOf(texts: readonly string[], separator: string): string {
  const others = texts.length - MAX_NAMED;
  return texts.slice(0, MAX_NAMED).join(separator) + (others > 0 ? `, and ${others} more` : '');
}

function findingsOfIDs({ name, networkId, endpoints }: NetworkReport): FindingReport[] {
  const expected = publicNetworkNamed(name)?.networkID ?? networkId;
  return endpoints
    .filter((endpoint) => endpoint.networkId !== undefined && endpoint.networkId !== expected)
    .map((endpoint) => {
      const text = `it belongs to network ID ${endpoint.networkId}, and ${name} has ${expected}: the service refuses it`;
      return finding('problem', `${name} ${endpoint.name}`, text, 'replace it by an endpoint of this network');
    });
}

function findingsOfClocks({ name, peersClockOffsetMs, endpoints }: NetworkReport): FindingReport[] {
  const ofHttp = endpoints.flatMap(({ clockOffsetMs }) => clockOffsetMs ?? []).toSorted((a, b) => a - b);
  const offsetMs = peersClockOffsetMs ?? ofHttp[Math.floor(ofHttp.length / 2)] ?? 0;
  if (Math.abs(offsetMs) < DOUBTFUL_CLOCK_MS) return [];
  const source = peersClockOffsetMs === undefined ? 'its endpoints' : 'its nodes';
  const text = `the clock of this machine is ${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs < 0 ? 'ahead of' : 'behind'} ${source}`;
  const severity = Math.abs(offsetMs) > REFUSED_CLOCK_MS ? 'problem' : 'warning';
  return [finding(severity, name, `${text}; nodes refuse a difference of 60 s`, 'synchronise it, such as by NTP')];
}

function findingsOfSubnet(subnet: SubnetReport, network: NetworkReport, { identity }: Facts): FindingReport[] {
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
    ...upstreams
      .filter(({ outcome }) => outcome !== 'works')
      .map((upstream) =>
        finding('warning', upstream.name, `${upstream.method}: ${describe(upstream)}`, adviceOn(upstream)),
      ),
    ...(redis !== undefined && redis.outcome !== 'works'
      ? [
          finding(
            'warning',
            'Redis',
            `${redis.method}: ${describe(redis)}; replicas then work alone`,
            'check store.sharedUrl',
          ),
        ]
      : []),
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

function adviceOn({ outcome }: Pick<CallReport, 'outcome'>): string {
  return outcome === 'unavailable' ? 'check its address, or wait' : 'check its address and key';
}

/** Describes a call that does not work. */
export function describe({
  outcome,
  words,
}: {
  readonly outcome: CallOutcome;
  readonly words?: string | undefined;
}): string {
  return words === undefined || words === '' ? outcome : `${outcome}: ${words}`;
}

export function subnetName({ subnetId, isTracked }: Pick<SubnetReport, 'subnetId' | 'isTracked'>): string {
  return isTracked ? `subnet ${subnetId}` : 'primary network';
}

function isDead({ calls }: EndpointReport): boolean {
  return calls.length > 0 && !calls.some(({ outcome }) => outcome === 'works');
}

function isPChain({ calls }: EndpointReport): boolean {
  return calls.some(({ method }) => method === 'platform.getProposedHeight');
}

function servesSets(endpoint: EndpointReport): boolean {
  const { calls, heights } = endpoint;
  const knowsHeight = calls.some(
    ({ method, outcome }) => method === 'platform.getProposedHeight' && outcome === 'works',
  );
  return knowsHeight && heights.some(({ depth, outcome }) => depth === 0 && outcome === 'works');
}

/** Whether it serves a numeric height; a chain that is shorter has none so old. */
function serves({ heights }: EndpointReport, depth: number): boolean {
  return heights.some(
    (height) => height.form === 'number' && height.depth === depth && ['works', 'skipped'].includes(height.outcome),
  );
}

function depthsOf(endpoints: readonly EndpointReport[]): number[] {
  return [...new Set(endpoints.flatMap(({ heights }) => heights.map(({ depth }) => depth)))].sort((a, b) => a - b);
}
