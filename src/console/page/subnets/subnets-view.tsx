import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import type { SubnetListBody } from '../../../api/subnets/subnet-records.ts';
import { failureOf } from '../api-client.ts';
import { nameOf, PRIMARY_NETWORK, type Session } from '../session.ts';
import { SignFailure } from '../sign/sign-failure.tsx';
import { Badge, Card, Field, usePolled } from '../ui/controls.tsx';
import { percentOf, ratioOf, shortened } from '../ui/figures.ts';
import { type Samples, Sparkline } from '../ui/sparkline.tsx';
import { SubnetDetail } from './subnet-detail.tsx';

type KnownSubnet = SubnetListBody['subnets'][number];
const LIST_EVERY_MS = 10_000;

/** The subnets that are known here, and one of them in full. */
export function SubnetsView({ session, subnetId }: { session: Session; subnetId: string | undefined }): ComponentChild {
  const { api, network, hasFigures } = session;
  const list = usePolled((signal) => api.subnets(network, signal), LIST_EVERY_MS, [network]);
  const activity = usePolled(async (signal) => (hasFigures ? api.activity(signal) : undefined), LIST_EVERY_MS, [
    network,
  ]);
  const histories = new Map(
    activity.value?.networks
      .find(({ name }) => name === network)
      ?.subnets.map(({ subnetId: id, samples }) => [id, samples]),
  );
  return (
    <div class="view">
      <Card title="Known subnets" aside={<OpenSubnet />}>
        <p class="hint">The primary network, those that the operator tracks, and those that were asked for lately.</p>
        <ul class="subnet-list">
          {(list.value ?? []).map((subnet) => (
            <SubnetRow
              key={subnet.subnetId}
              subnet={subnet}
              session={session}
              samples={histories.get(subnet.subnetId)}
              isChosen={subnet.subnetId === subnetId}
            />
          ))}
        </ul>
      </Card>
      {subnetId !== undefined && (
        <SubnetDetail key={subnetId} session={session} subnetId={subnetId} samples={histories.get(subnetId)} />
      )}
      {list.error !== undefined && list.value === undefined && (
        <SignFailure failure={failureOf(list.error)} session={session} onRetry={list.reload} />
      )}
    </div>
  );
}

function SubnetRow(props: {
  subnet: KnownSubnet;
  session: Session;
  samples: Samples | undefined;
  isChosen: boolean;
}): ComponentChild {
  const { subnet, session, samples, isChosen } = props;
  const { subnetId, status, reason, isTracked } = subnet;
  const total = BigInt(subnet.totalWeight ?? '0');
  const connected = BigInt(subnet.connectedWeight ?? '0');
  const name = nameOf(subnetId, session);
  return (
    <li>
      <a class="subnet-row" href={`#/subnets/${subnetId}`} aria-current={isChosen ? 'true' : undefined}>
        <span class="subnet-name">
          <span class={`dot ${status}`} aria-hidden />
          <strong>{name ?? shortened(subnetId, 10, 8)}</strong>
          {isTracked && subnetId !== PRIMARY_NETWORK && <Badge tone="plain">tracked</Badge>}
        </span>
        <span class="subnet-weight">
          <span class="mini-bar" aria-hidden>
            <span style={{ transform: `scaleX(${ratioOf(connected, total)})` }} />
          </span>
          <span>{total === 0n ? 'not read yet' : `${percentOf(connected, total)} connected`}</span>
        </span>
        {samples !== undefined && samples.length > 1 && <Sparkline samples={samples} />}
        {reason !== undefined && <span class="subnet-reason">{reason}</span>}
      </a>
    </li>
  );
}

function OpenSubnet(): ComponentChild {
  const [typed, setTyped] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed.trim() !== '') location.hash = `#/subnets/${encodeURIComponent(typed.trim())}`;
  };
  return (
    <form class="open-subnet" onSubmit={submit}>
      <Field
        label="Another subnet"
        children={(id) => (
          <input
            id={id}
            type="text"
            value={typed}
            placeholder="subnet ID"
            spellcheck={false}
            autocomplete="off"
            onInput={(event: Event) => setTyped((event.currentTarget as HTMLInputElement).value)}
          />
        )}
      />
      <button type="submit" class="button">
        Look
      </button>
    </form>
  );
}
