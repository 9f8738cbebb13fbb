import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import type { SubnetListBody } from '../../../api/subnets/subnet-records.ts';
import { type Place, PRIMARY_NETWORK, type Session, useSession } from '../session.ts';
import { Card, TextField } from '../ui/controls.tsx';
import { Stale, usePolled } from '../ui/polled.tsx';
import { SubnetDetail } from './subnet-detail.tsx';
import { SubnetRow } from './subnet-row.tsx';

type KnownSubnet = SubnetListBody['subnets'][number];
const LIST_EVERY_MS = 10_000;

/** The subnets that the service knows, and one of them in full. */
export function SubnetsView({ place }: { place: Place }): ComponentChild {
  const { rest: subnetId, query } = place;
  const session = useSession();
  const { api, network, facts } = session;
  const list = usePolled((signal) => api.of(network).subnets({ signal }), LIST_EVERY_MS, [network]);
  // A visitor without a key is not asked for one here.
  const mayAsk = facts.areFiguresPublic || api.key !== '';
  const activity = usePolled(async (signal) => (mayAsk ? api.activity(signal) : undefined), LIST_EVERY_MS, [
    network,
    mayAsk,
  ]);
  const histories = activity.value?.networks.find(({ name }) => name === network)?.subnets;
  return (
    <div class="view">
      <Card title="Known subnets" aside={<OpenSubnet />}>
        <p class="hint">The primary network, those that the operator tracks, and those that were requested recently.</p>
        <Stale polled={list}>
          <ul class="list">
            {withDevnetSubnets(list.value ?? [], session).map((subnet) => (
              <SubnetRow
                key={subnet.subnetId}
                subnet={subnet}
                isChosen={subnet.subnetId === subnetId}
                isNetworkDown={session.networkProblem !== undefined}
              />
            ))}
          </ul>
        </Stale>
      </Card>
      {subnetId !== undefined && (
        <SubnetDetail
          key={`${subnetId} ${query.get('find')}`}
          subnetId={subnetId}
          wanted={query.get('find') ?? ''}
          samples={histories?.find((history) => history.subnetId === subnetId)?.samples}
          isRecorded={list.value?.some((known) => known.subnetId === subnetId && known.isTracked) === true}
        />
      )}
    </div>
  );
}

/** Adds the subnets of the devnet that no client has requested yet, so that people find them. */
function withDevnetSubnets(known: readonly KnownSubnet[], { devnet }: Session): KnownSubnet[] {
  const all = devnet === undefined ? [] : [PRIMARY_NETWORK, devnet.l1.subnetID];
  const others = all.filter((id) => !known.some(({ subnetId }) => subnetId === id));
  return [...known, ...others.map((subnetId) => ({ subnetId, isTracked: false, status: 'up' as const }))];
}

function OpenSubnet(): ComponentChild {
  const [typed, setTyped] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed.trim() !== '') location.hash = `#/subnets/${encodeURIComponent(typed.trim())}`;
  };
  return (
    <form class="open-subnet" onSubmit={submit}>
      <TextField label="Another subnet" placeholder="subnet ID" value={typed} onValue={setTyped} />
      <button type="submit" class="button">
        Look
      </button>
    </form>
  );
}
