import type { ComponentChild } from 'preact';
import type { FeedMessageRecord } from '../../../api/feed/feed-records.ts';
import { DecodedMessage } from '../inspect/decoded-message.tsx';
import { useSession } from '../session.ts';
import { NotLoaded } from '../sign/sign-failure.tsx';
import { Badge, Card, type FactRows, Facts, Id, NamedId } from '../ui/controls.tsx';
import { ago, dateTime, grouped, milliseconds } from '../ui/figures.ts';
import { KeptPlace } from '../ui/kept-focus.tsx';
import { usePolled } from '../ui/polled.tsx';

const EVERY_MS = 3_000;
const TONES = { signed: 'good', pending: 'info', failed: 'bad' } as const;

/** One message with its stages. */
export function MessageDetail({ id }: { id: string }): ComponentChild {
  const { api, network } = useSession();
  const { value, error, reload } = usePolled((signal) => api.message(network, id, signal), EVERY_MS, [network, id]);
  return (
    <KeptPlace>
      {value === undefined ? (
        <NotLoaded error={error} onRetry={reload}>
          <Card title="Message">
            <p class="hint">Loading…</p>
          </Card>
        </NotLoaded>
      ) : (
        <Message message={value} />
      )}
    </KeptPlace>
  );
}

function Message({ message }: { message: FeedMessageRecord }): ComponentChild {
  const { open } = useSession();
  const { status, failure, unsignedMessage } = message;
  const { messageId, networkId, sourceBlockchainId, payload } = message;
  return (
    <Card title={['Message ', <Badge tone={TONES[status]}>{status}</Badge>]}>
      {failure !== undefined && <p class="problem">{failure.message}</p>}
      <Facts rows={stagesOf(message)} />
      <p>
        <button type="button" class="button primary" onClick={() => open('sign', unsignedMessage)}>
          Sign it for a destination
        </button>
      </p>
      <DecodedMessage reading={{ as: 'unsignedMessage', messageId, networkId, sourceBlockchainId, payload }} />
      <Facts rows={factsOf(message)} />
    </Card>
  );
}

function stagesOf({ blockTime, executedAt, signedAt, failure, blockNumber }: FeedMessageRecord): FactRows {
  return [
    ['Block', `${grouped(blockNumber)}, ${dateTime(blockTime)}`],
    ['Executed', `${dateTime(executedAt)}, when the service saw it`],
    signedAt !== undefined && ['Signed', `${milliseconds(Math.max(0, signedAt - executedAt))} later`],
    failure !== undefined && [
      'Failed',
      `${failure.code}, after ${failure.attempts} ${failure.attempts === 1 ? 'attempt' : 'attempts'}, ` +
        `the last ${ago(Math.max(0, Date.now() - failure.failedAt))}; it is tried again`,
    ],
  ];
}

function factsOf(message: FeedMessageRecord): FactRows {
  const { messageId, sender, txHash, logIndex, destinationBlockchainId, signingSubnetId, pChainHeight, signedMessage } =
    message;
  return [
    ['Sender', <Id value={sender} what="address" />],
    ['Transaction', <Id value={txHash} what="transaction hash" />],
    ['Log', String(logIndex)],
    ['Requests', <a href={`#/activity?search=${encodeURIComponent(messageId)}`}>those for this message</a>],
    destinationBlockchainId !== undefined && [
      'Destination',
      <NamedId value={destinationBlockchainId} kind="chain" what="blockchain ID" />,
    ],
    signingSubnetId !== undefined && [
      'Signing subnet',
      <NamedId value={signingSubnetId} kind="subnet" what="subnet ID" />,
    ],
    pChainHeight !== undefined && ['P-Chain height', grouped(pChainHeight)],
    signedMessage !== undefined && ['Signed message', <Id value={signedMessage} what="signed message" />],
  ];
}
