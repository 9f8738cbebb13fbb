import { stripVTControlCharacters } from 'node:util';
import { formatTable, printable, styled } from '../io/text.ts';
import { describeFailure } from '../probes/check.ts';
import type {
  CallOutcome,
  DoctorReport,
  EndpointReport,
  FindingReport,
  HeightReport,
  NetworkReport,
  StageReport,
  SubnetReport,
  ValidatorReport,
} from '../probes/report.ts';
import { subnetName } from './findings.ts';

/** Formats a report for people: what was tried, then the findings with what to do about them. */
export function formatReport(report: DoctorReport): string {
  return [
    ...header(report),
    ...report.networks.flatMap(networkLines),
    '',
    ...machineLines(report),
    '',
    ...findingLines(report.findings),
  ].join('\n');
}

function header({ service, startedAt, durationMs, configuration, identity }: DoctorReport): string[] {
  return [
    styled('bold', `warp-signature-aggregator ${service.version} doctor`),
    ...formatTable([
      [dim('Run'), `${startedAt}, ${seconds(durationMs)}`],
      [dim('System'), `Node ${service.node}, ${service.platform}`],
      [dim('Configuration'), printable(configuration)],
      [dim('Identity'), `${identity.nodeId} (${identity.kind})`],
    ]),
  ];
}

function networkLines(network: NetworkReport): string[] {
  const { name, networkId, isDevnet, endpoints, others, announcedVersion, peersClockOffsetMs, problem, connectingMs } =
    network;
  const facts = [
    `network ID ${networkId ?? 'unknown'}`,
    ...(isDevnet ? ['a devnet on this machine'] : []),
    `announced version ${announcedVersion ?? 'newest known'}`,
    ...(peersClockOffsetMs === undefined ? [] : [`clock of its nodes ${offset(peersClockOffsetMs)}`]),
  ];
  return [
    '',
    `${title(`Network ${name}`)}  ${dim(facts.join(' · '))}`,
    ...endpoints.flatMap(endpointLines),
    ...(others.length === 0 ? [] : ['', `  ${styled('bold', 'Other APIs')}`]),
    ...formatTable(
      others.map((other) => [
        `    ${mark(other.outcome)}`,
        other.name,
        other.method,
        other.url,
        ms(other.durationMs),
        describeUnlessWorking(other),
      ]),
    ),
    ...(problem === undefined ? [] : ['', `  ${styled('red', printable(problem))}`]),
    ...network.subnets.flatMap((subnet) => subnetLines(subnet, connectingMs)),
  ];
}

function endpointLines({ name, url, version, networkId, clockOffsetMs, calls, heights }: EndpointReport): string[] {
  const facts = [
    name,
    ...(version === undefined ? [] : [`version ${version}`]),
    ...(networkId === undefined ? [] : [`network ID ${networkId}`]),
    ...(clockOffsetMs === undefined ? [] : [`clock ${offset(clockOffsetMs)}`]),
  ];
  const groups = Map.groupBy(calls, (call) => (call.outcome === 'works' ? '' : printable(describeFailure(call))));
  const working = groups.get('') ?? [];
  groups.delete('');
  const rare = Array.from(groups.values())
    .filter((group) => group.length <= MAX_SHOWN_ALONE)
    .flat();
  const rows = rare.map((call) => [
    `    ${mark(call.outcome)}`,
    call.method,
    ms(call.durationMs),
    printable(describeFailure(call)),
  ]);
  return [
    '',
    `  ${styled('bold', url)}  ${dim(facts.join(' · '))}`,
    ...wrap(
      `    ${mark('works')}  `,
      working.map(({ method, durationMs }) => `${method} ${dim(ms(durationMs))}`),
    ),
    ...Array.from(groups).flatMap(([words, group]) => commonLines(words, group)),
    ...formatTable(rows, new Set([2])).flatMap((line, index) => [
      line,
      `       ${dim(`without it: ${rare[index]?.lost}`)}`,
    ]),
    ...heightLines(heights),
  ];
}

/** Calls with the same words are shown with what is lost without each, unless they are many. */
const MAX_SHOWN_ALONE = 4;

function commonLines(words: string, group: EndpointReport['calls']): string[] {
  const [first] = group;
  if (first === undefined || group.length <= MAX_SHOWN_ALONE) return [];
  const methods = wrap(
    '       ',
    group.map(({ method }) => method),
  );
  return [`    ${mark(first.outcome)}  ${words}`, ...methods.map(dim)];
}

function heightLines(heights: readonly HeightReport[]): string[] {
  if (heights.length === 0) return [];
  const label = ({ form, depth }: HeightReport): string =>
    form === 'proposed' ? 'by "proposed"' : depth === 0 ? 'by number' : `${depth.toLocaleString('en')} back`;
  const served = heights.map((height) => {
    const words = height.outcome === 'works' ? ms(height.durationMs) : describeFailure(height);
    return [`      ${mark(height.outcome)}`, label(height), printable(words)];
  });
  return [dim('    validator sets at heights'), ...formatTable(served)];
}

function subnetLines(subnet: SubnetReport, connectingMs: number | undefined): string[] {
  const { validators, pChainHeight, reachedPercent, neededPercent, missing, heaviest, problem, askedChainId } = subnet;
  const name = `  ${styled('bold', `Validators of the ${subnetName(subnet)}`)}`;
  if (problem !== undefined || reachedPercent === undefined)
    return ['', name, `    ${printable(problem ?? 'not tried')}`];
  const isEnough = reachedPercent >= neededPercent;
  const share = styled(isEnough ? 'green' : 'red', `${reachedPercent} % of the weight reached`);
  return [
    '',
    `${name}  ${dim(`${validators} at height ${pChainHeight}`)}`,
    `    ${share} in ${seconds(connectingMs ?? 0)}, ${neededPercent} % needed`,
    ...missing.map((one) => `    ${dim('not reached:')} ${one.text}`),
    ...(heaviest.length === 0 ? [] : ['', ...heaviestTable(heaviest)]),
    ...(heaviest.length === 0
      ? []
      : [
          dim(
            `    Each was asked to sign a message that chain ${askedChainId} never sent. "answers": it refused, as it should.`,
          ),
        ]),
  ];
}

function heaviestTable(heaviest: readonly ValidatorReport[]): string[] {
  const head = ['    weight', 'NodeID', 'address', 'TCP', 'TLS', 'handshake', 'version', 'answer'].map(dim);
  const rows = heaviest.map((validator) => [
    `${validator.percent.toFixed(2)} %`,
    validator.nodeId,
    validator.address ?? styled('red', 'unknown'),
    stage(validator.tcp),
    stage(validator.tls),
    stage(validator.handshake),
    validator.version?.replace(/^avalanchego\//, '') ?? '',
    answerText(validator),
  ]);
  return formatTable([head, ...rows], new Set([0, 3, 4, 5]));
}

function stage({ outcome, durationMs }: StageReport): string {
  if (outcome === 'failed') return styled('red', '✗');
  return outcome === 'not_reached' ? dim('–') : ms(durationMs) || '✓';
}

function answerText({ answer, reason }: ValidatorReport): string {
  const { outcome, code, words, durationMs } = answer;
  switch (outcome) {
    case 'signed':
      return `signed, ${ms(durationMs)}`;
    case 'refused':
      return (code ?? 0) > 0
        ? `answers (${code}), ${ms(durationMs)}`
        : styled('red', `refuses (${code}${words ? `: ${words}` : ''})`);
    case 'not_asked':
      return reason ?? 'not asked';
    case 'timed_out':
    case 'unreachable':
    case 'invalid_signature':
      return styled('red', words?.split(':')[0] ?? outcome);
  }
}

function machineLines({ opened, upstreams, redis, fileDescriptors }: DoctorReport): string[] {
  const { limit, required } = fileDescriptors;
  const isEnough = limit === undefined || limit >= required;
  return [
    title('This machine'),
    ...formatTable([
      ...opened.map((part) => [
        `  ${mark(part.outcome)}`,
        part.name,
        part.outcome === 'works' ? part.method : printable(describeFailure(part)),
      ]),
      [
        `  ${isEnough ? mark('works') : mark('refused')}`,
        'file descriptors',
        `limit of this shell ${limit?.toLocaleString('en') ?? 'unknown'}, ${required.toLocaleString('en')} needed`,
      ],
      redis === undefined
        ? [`  ${dim('–')}`, 'Redis', dim('not configured')]
        : [
            `  ${mark(redis.outcome)}`,
            'Redis',
            `${redis.servers} ${ms(redis.durationMs)} ${describeUnlessWorking(redis)}`,
          ],
      ...(upstreams.length === 0 ? [[`  ${dim('–')}`, 'upstreams', dim('none configured')]] : []),
      ...upstreams.map((upstream) => [
        `  ${mark(upstream.outcome)}`,
        upstream.name,
        `${upstream.url} ${ms(upstream.durationMs)} ${upstream.words ?? ''}`,
      ]),
    ]),
  ];
}

const SEVERITY_WORDS = {
  problem: ['red', '✗ problem'],
  passing: ['red', '✗ now'],
  warning: ['yellow', '! warning'],
  note: ['blue', 'i note'],
} as const;

function findingLines(findings: readonly FindingReport[]): string[] {
  const isFine = findings.every(({ severity }) => severity === 'note');
  const rows = findings.flatMap(({ severity, subject, text, advice }) => {
    const [colour, words] = SEVERITY_WORDS[severity];
    return [
      `  ${styled(colour, words.padEnd(9))}  ${styled('bold', printable(subject))}`,
      ...wrap(FINDING_INDENT, printable(text).split(' '), ' '),
      ...(advice === undefined ? [] : wrap(`${FINDING_INDENT}${dim('→')} `, advice.split(' '), ' ')),
    ];
  });
  return [
    title('Findings'),
    ...rows,
    ...(isFine ? [`  ${styled('green', '✓ the service works with this configuration')}`] : []),
  ];
}

const FINDING_INDENT = ' '.repeat(13);

function mark(outcome: CallOutcome): string {
  if (outcome === 'works') return styled('green', '✓');
  return outcome === 'skipped' ? dim('–') : styled('red', '✗');
}

function describeUnlessWorking(call: { readonly outcome: CallOutcome; readonly words?: string }): string {
  return call.outcome === 'works' ? '' : printable(describeFailure(call));
}

/** Puts words on lines of about a terminal's usual width. */
function wrap(first: string, words: readonly string[], separator = ', '): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    const next = line === '' ? word : line + separator + word;
    if (line !== '' && plainLength(next) > MAX_LINE) {
      lines.push((line + separator).trimEnd());
      line = word;
    } else {
      line = next;
    }
  }
  if (line !== '') lines.push(line);
  return lines.map((text, index) => (index === 0 ? first : ' '.repeat(plainLength(first))) + text);
}

const MAX_LINE = 100;

function plainLength(text: string): number {
  return stripVTControlCharacters(text).length;
}

function title(text: string): string {
  return styled(['bold', 'cyan'], text);
}

function dim(text: string): string {
  return styled('dim', text);
}

function ms(durationMs: number | undefined): string {
  return durationMs === undefined ? '' : `${durationMs} ms`;
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}

/** Other clock less ours. */
function offset(offsetMs: number): string {
  // Both sides send whole seconds.
  if (Math.abs(offsetMs) <= 1_500) return 'as here';
  return `${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs < 0 ? 'behind' : 'ahead'}`;
}
