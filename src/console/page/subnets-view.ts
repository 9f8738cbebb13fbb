import { type ComponentChild, h } from 'preact';
import { useState } from 'preact/hooks';
import type { SubnetListBody } from '../../api/subnet-records.ts';
import { failureOf } from './api-client.ts';
import { Badge, Card, Field, usePolled } from './controls.ts';
import { percentOf, ratioOf, shortened } from './figures.ts';
import { nameOf, PRIMARY_NETWORK, type Session } from './session.ts';
import { SignFailure } from './sign-failure.ts';
import { type Samples, Sparkline } from './sparkline.ts';
import { SubnetDetail } from './subnet-detail.ts';

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
  return h('div', { class: 'view' }, [
    h(Card, { title: 'Known subnets', aside: h(OpenSubnet, null) }, [
      h(
        'p',
        { class: 'hint' },
        'The primary network, those that the operator tracks, and those that were asked for lately.',
      ),
      h(
        'ul',
        { class: 'subnet-list' },
        (list.value ?? []).map((subnet) =>
          h(SubnetRow, {
            key: subnet.subnetId,
            subnet,
            session,
            samples: histories.get(subnet.subnetId),
            isChosen: subnet.subnetId === subnetId,
          }),
        ),
      ),
    ]),
    subnetId !== undefined && h(SubnetDetail, { key: subnetId, session, subnetId, samples: histories.get(subnetId) }),
    list.error !== undefined &&
      list.value === undefined &&
      h(SignFailure, { failure: failureOf(list.error), session, onRetry: list.reload }),
  ]);
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
  return h('li', null, [
    h('a', { class: 'subnet-row', href: `#/subnets/${subnetId}`, 'aria-current': isChosen ? 'true' : undefined }, [
      h('span', { class: 'subnet-name' }, [
        h('span', { class: `dot ${status}`, 'aria-hidden': true }),
        h('strong', null, name ?? shortened(subnetId, 10, 8)),
        isTracked && subnetId !== PRIMARY_NETWORK && h(Badge, { tone: 'plain' }, 'tracked'),
      ]),
      h('span', { class: 'subnet-weight' }, [
        h(
          'span',
          { class: 'mini-bar', 'aria-hidden': true },
          h('span', { style: { transform: `scaleX(${ratioOf(connected, total)})` } }),
        ),
        h('span', null, total === 0n ? 'not read yet' : `${percentOf(connected, total)} connected`),
      ]),
      samples !== undefined && samples.length > 1 && h(Sparkline, { samples }),
      reason !== undefined && h('span', { class: 'subnet-reason' }, reason),
    ]),
  ]);
}

function OpenSubnet(): ComponentChild {
  const [typed, setTyped] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed.trim() !== '') location.hash = `#/subnets/${encodeURIComponent(typed.trim())}`;
  };
  return h('form', { class: 'open-subnet', onSubmit: submit }, [
    h(Field, {
      label: 'Another subnet',
      children: (id) =>
        h('input', {
          id,
          type: 'text',
          value: typed,
          placeholder: 'subnet ID',
          spellcheck: false,
          autocomplete: 'off',
          onInput: (event: Event) => setTyped((event.currentTarget as HTMLInputElement).value),
        }),
    }),
    h('button', { type: 'submit', class: 'button' }, 'Look'),
  ]);
}
