import type { ComponentChild } from 'preact';
import type { RequestRecord } from '../../../api/requests/request-record.ts';
import { type IdKind, PRIMARY_NETWORK, useSession } from '../session.ts';
import { NotLoaded, SignFailure } from '../sign/sign-failure.tsx';
import { Badge, Card, type FactRows, Facts, Id, Legend, NamedId } from '../ui/controls.tsx';
import { dateTime, grouped, milliseconds } from '../ui/figures.ts';
import { KeptPlace } from '../ui/kept-focus.tsx';
import { usePolled } from '../ui/polled.tsx';
import { useAnswer } from '../ui/use-answer.ts';
import { OutcomeLegend } from '../ui/weight-map.tsx';
import { failureOfRecord, outcomesOfRecord, type Stage, stagesOf } from './request-summary.ts';

/** A record does not change, but a request that is running has none yet. */
const EVERY_MS = 10_000;

/** What happened to one request. */
export function RequestDetail({ id }: { id: string }): ComponentChild {
  const { api } = useSession();
  const { value, error, reload } = usePolled((signal) => api.request(id, signal), EVERY_MS, [id]);
  return (
    <KeptPlace>
      {value === undefined ? (
        <NotLoaded error={error} onRetry={reload}>
          <Card title="Request">
            <p class="hint">Loading…</p>
          </Card>
        </NotLoaded>
      ) : (
        <Record record={value} />
      )}
    </KeptPlace>
  );
}

function Record({ record }: { record: RequestRecord }): ComponentChild {
  const { outcome, weights, messageId } = record;
  const failure = failureOfRecord(record);
  return [
    <Card title={['Request ', <Badge tone={outcome === 'signed' ? 'good' : 'bad'}>{outcome}</Badge>]}>
      {outcome === 'aborted' && <p>The client disconnected before the answer.</p>}
      <StageBar stages={stagesOf(record)} durationMs={record.durationMs} />
      {weights !== undefined && failure === undefined && <OutcomeLegend outcomes={outcomesOfRecord(weights)} />}
      <Facts rows={[['ID', <Id value={record.id} what="request ID" />], ...factsOf(record)]} />
      {messageId !== undefined && <WatchedMessage messageId={messageId} network={record.network ?? ''} />}
    </Card>,
    failure !== undefined && <SignFailure failure={failure} isOfPChain={record.sourceChainId === PRIMARY_NETWORK} />,
  ];
}

/** A link to the message, if its chain is watched. */
function WatchedMessage(props: { messageId: string; network: string }): ComponentChild {
  const { api, network: shown } = useSession();
  const answer = useAnswer(props, (asked, signal) => api.message(asked.network, asked.messageId, signal));
  if (answer?.value === undefined || props.network !== shown) return null;
  return (
    <p>
      <a href={`#/messages/${encodeURIComponent(props.messageId)}`}>The message, with its block and its sender</a>
    </p>
  );
}

function StageBar({ stages, durationMs }: { stages: readonly Stage[]; durationMs: number }): ComponentChild {
  return (
    <div class="stack">
      <p>
        <strong>{milliseconds(durationMs)}</strong>
        <span class="muted"> from the headers of the request to the end of the answer</span>
      </p>
      <div class="stage-bar" role="img" aria-label={`Stages: ${stagesText(stages)}`}>
        {stages.map(({ name, ms }) => (
          <span key={name} style={{ flexGrow: ms, background: `var(--cell-${name})` }} />
        ))}
      </div>
      <Legend items={stages.map(({ name, ms }) => [name, name, milliseconds(ms)])} />
    </div>
  );
}

function stagesText(stages: readonly Stage[]): string {
  return stages.map(({ name, ms }) => `${name} ${milliseconds(ms)}`).join(', ');
}

/** What an opened row of the list shows. */
export function rowFactsOf(record: RequestRecord): FactRows {
  const { id, errorMessage, durationMs } = record;
  return [
    ['Request', <RequestLink id={id} text={id} />],
    errorMessage !== undefined && ['Error', errorMessage],
    ['Time', `${milliseconds(durationMs)}: ${stagesText(stagesOf(record))}`],
    ...factsOf(record),
  ];
}

export function RequestLink({ id, text }: { id: string; text: string }): ComponentChild {
  return (
    <a href={`#/activity/${encodeURIComponent(id)}`}>
      <code>{text}</code>
    </a>
  );
}

function factsOf(record: RequestRecord): FactRows {
  const { quorumPercentage, quorumPercentageBuffer = 0, status, network, transaction } = record;
  const buffer = quorumPercentageBuffer > 0 ? `, with a buffer of ${quorumPercentageBuffer} %` : '';
  const height = heightText(record);
  const idRow = (name: string, id: string | undefined, kind: IdKind): FactRows[number] =>
    id !== undefined && [name, <NamedId value={id} kind={kind} what={name.toLowerCase()} />];
  return [
    ['Ended', dateTime(record.endedAt)],
    ['Client', <Searched text={record.client} shown={record.client} />],
    ['Route', `${record.method} ${record.route}`],
    status !== undefined && ['Status', String(status)],
    network !== undefined && ['Network', network],
    ['Message', record.messageId === undefined ? '–' : <MessageId id={record.messageId} />],
    transaction !== undefined && ['Transaction', <Id value={transaction} what="transaction" />],
    idRow('Source chain', record.sourceChainId, 'chain'),
    idRow('Signing subnet', record.signingSubnetId, 'subnet'),
    idRow('Destination', record.destinationBlockchainId, 'chain'),
    height !== undefined && ['P-Chain height', height],
    quorumPercentage !== undefined && ['Quorum', `${quorumPercentage} %${buffer}`],
  ];
}

function MessageId({ id }: { id: string }): ComponentChild {
  return [<Id value={id} what="message ID" />, <Searched text={id} shown="all requests for it" />];
}

/** A link to all requests that a text names. */
function Searched({ text, shown }: { text: string; shown: string }): ComponentChild {
  return <a href={`#/activity?search=${encodeURIComponent(text)}`}>{shown}</a>;
}

function heightText({ pChainHeight, requestedPChainHeight: requested }: RequestRecord): string | undefined {
  if (pChainHeight === undefined) return requested === undefined ? undefined : `${grouped(requested)} was requested`;
  return `${grouped(pChainHeight)}${requested === undefined ? '' : ', which the request names'}`;
}
