import type { ComponentChild } from 'preact';
import type { SignedMessage } from '../api-client.ts';
import type { FactRows } from '../ui/controls.tsx';
import { grouped, unixTime } from '../ui/figures.ts';

/** Why the destination refuses a message, or may refuse it. */
export function Warnings({ warnings = [] }: { warnings: SignedMessage['warnings'] | undefined }): ComponentChild {
  if (warnings.length === 0) return null;
  return (
    <ul class="consequences warnings" aria-label="Warnings">
      {warnings.map(({ code, message }) => (
        <li key={code} class="warn">
          <code>{code}</code>
          {`: ${message}`}
        </li>
      ))}
    </ul>
  );
}

export function epochRow(epoch: SignedMessage['epoch']): FactRows[number] {
  return (
    epoch !== undefined && [
      "Destination's epoch",
      `${grouped(epoch.number)}, at P-Chain height ${grouped(epoch.pChainHeight)} since ${unixTime(String(epoch.startTime))}`,
    ]
  );
}
