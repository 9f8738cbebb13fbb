import type { ComponentChild } from 'preact';
import type { VerificationResult } from '../../../api/messages/verification-record.ts';
import type { Destination as DestinationView, SignedMessage } from '../../../client/gen/api.ts';
import { failureOf } from '../console-api.ts';
import { type FactRows, Facts, NamedId } from '../ui/controls.tsx';
import { grouped, unixTime } from '../ui/figures.ts';
import type { SourceKind } from './acceptance.ts';

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

/** Why the validators of a subnet must sign. */
export const RULE_WORDS: Readonly<Record<VerificationResult['signingRule'], string>> = {
  named: 'You chose it.',
  source_subnet: 'The subnet of the source chain signs.',
  destination_subnet: "The destination verifies messages of the primary network with its own subnet's validators.",
  primary_network: 'The destination requires primary network signers.',
};

/** What a destination demands, as far as it is known. */
export interface DestinationAnswer {
  readonly value?: DestinationView;
  readonly error?: unknown;
}

/** How a destination verifies the message, before anyone signs it. */
export function DestinationSummary(props: {
  destination: DestinationAnswer | undefined;
  sources: SourceKind | undefined;
}): ComponentChild {
  const { destination, sources } = props;
  if (destination?.error !== undefined) return <p class="problem">{failureOf(destination.error).message}</p>;
  const view = destination?.value;
  if (view === undefined) return null;
  const signers = view.signers.find((one) => one.sources === sources);
  return [
    <Facts
      rows={[
        signers !== undefined && [
          'Signers',
          [
            signers.signingSubnetId !== undefined && (
              <NamedId value={signers.signingSubnetId} kind="subnet" what="subnet" />
            ),
            <span class="muted">
              {signers.signingRule === undefined
                ? 'Its warp config decides, and cannot be read.'
                : RULE_WORDS[signers.signingRule]}
            </span>,
          ],
        ],
        ['Its quorum', `${view.quorumPercentage} %`],
        epochRow(view.epoch),
        signers?.isProposedSetDifferent === true && [
          'Validators',
          'Those of now differ from those of its epoch: only a message signed for it is accepted.',
        ],
      ]}
    />,
    <Warnings warnings={view.warnings} />,
  ];
}
