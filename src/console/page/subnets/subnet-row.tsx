import type { ComponentChild } from 'preact';
import type { SubnetListBody } from '../../../api/subnets/subnet-records.ts';
import { PRIMARY_NETWORK, useSession } from '../session.ts';
import { Badge, Swatch } from '../ui/controls.tsx';
import { percentOf, ratioOf, shortened } from '../ui/figures.ts';

type KnownSubnet = SubnetListBody['subnets'][number];
type ListedSubnet = Omit<KnownSubnet, 'isTracked'> & Partial<KnownSubnet>;

interface SubnetRowProps {
  readonly subnet: ListedSubnet;
  readonly isChosen?: boolean;
  /** Whether its network is down, so that connected weight is of no use. */
  readonly isNetworkDown: boolean;
}

/** A subnet that leads to its view, with how much of its weight is connected. */
export function SubnetRow({ subnet, isChosen = false, isNetworkDown }: SubnetRowProps): ComponentChild {
  const { nameOf } = useSession();
  const { subnetId, status, reason, isTracked } = subnet;
  const total = BigInt(subnet.totalWeight ?? '0');
  const connected = BigInt(subnet.connectedWeight ?? '0');
  const name = nameOf(subnetId, 'subnet');
  const isUnknown = status === 'up' && (total === 0n || isNetworkDown);
  return (
    <li>
      <a class="subnet-row" href={`#/subnets/${subnetId}`} aria-current={isChosen ? 'true' : undefined}>
        <span class="subnet-name">
          <Swatch colour={isUnknown ? 'unknown' : status} isRound />
          <strong>{name ?? shortened(subnetId, 10, 8)}</strong>
          {isTracked && subnetId !== PRIMARY_NETWORK && <Badge tone="plain">tracked</Badge>}
        </span>
        <span class="subnet-weight">
          <span class={`mini-bar ${isNetworkDown ? 'idle' : ''}`} aria-hidden>
            <span style={{ transform: `scaleX(${ratioOf(connected, total)})` }} />
          </span>
          <span>{total === 0n ? 'not known yet' : `${percentOf(connected, total)} connected`}</span>
        </span>
        {reason !== undefined && <span class="subnet-reason">{reason}</span>}
      </a>
    </li>
  );
}
