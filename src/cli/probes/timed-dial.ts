import { systemClock } from '../../lib/concurrency/clock.ts';
import type { Dial } from '../../p2p/connection/dial.ts';
import { createTlsDial } from '../../p2p/connection/tls-dial.ts';
import type { Identity } from '../../p2p/identity/identity.ts';
import { type NodeID, nodeIDFromCertificate } from '../../warp/ids.ts';

/** Milliseconds of each part of the last connection. */
export interface Times {
  readonly tcp?: number;
  readonly tls?: number;
  handshake?: number;
}

export type TimedDial = ReturnType<typeof createTimedDial>;

/** Creates a dial that measures TCP and TLS of each node. */
export function createTimedDial(identity: Identity) {
  const dialTls = createTlsDial(identity);
  const times = new Map<NodeID, Times & { readonly securedMs: number }>();
  const dial: Dial = (endpoint, events) => {
    const startedMs = systemClock.monotonicMs();
    let connectedMs = startedMs;
    return dialTls(endpoint, {
      ...events,
      onConnect() {
        connectedMs = systemClock.monotonicMs();
        events.onConnect();
      },
      onSecure(certificate) {
        const securedMs = systemClock.monotonicMs();
        if (certificate !== undefined) {
          const [tcp, tls] = [Math.round(connectedMs - startedMs), Math.round(securedMs - connectedMs)];
          times.set(nodeIDFromCertificate(certificate), { tcp, tls, securedMs });
        }
        events.onSecure(certificate);
      },
    });
  };
  return {
    dial,
    /** Ends the measurement of the handshake. */
    onReady(nodeID: NodeID): void {
      const known = times.get(nodeID);
      if (known !== undefined) known.handshake ??= Math.round(systemClock.monotonicMs() - known.securedMs);
    },
    of: (nodeID: NodeID): Times => times.get(nodeID) ?? {},
  };
}
