import type { ComponentChild } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import type { VerificationResult } from '../../../api/messages/verification-record.ts';
import { failureOf } from '../console-api.ts';
import { MessageInput, useReadInput } from '../input/message-input.tsx';
import { type Begin, useSession } from '../session.ts';
import { epochRow, RULE_WORDS, Warnings } from '../sign/delivery-facts.tsx';
import { MAX_PERCENTAGE } from '../sign/quorum.ts';
import { DestinationChain, SignersFields } from '../sign/quorum-controls.tsx';
import { SignFailure } from '../sign/sign-failure.tsx';
import type { Destination } from '../sign/sign-request.ts';
import { Badge, Card, Facts, NamedId, TextField } from '../ui/controls.tsx';
import { grouped, percentOf, shareOf } from '../ui/figures.ts';
import { type Column, nodeColumn, Table } from '../ui/table.tsx';
import { useAnswer } from '../ui/use-answer.ts';
import { WeightOf } from '../ui/weight.tsx';
import { WeightBar } from '../ui/weight-bar.tsx';
import { WeightMap } from '../ui/weight-map.tsx';
import { DecodedMessage } from './decoded-message.tsx';
import { NextStep } from './next-step.tsx';
import { drawnSigners, PROBLEM_ADVICE } from './verdict.ts';
import { HERE, verificationBody } from './verification-body.ts';

/** Shows a message, its signers, and whether a destination would accept it. */
export function InspectView({ begin }: { begin: Begin | undefined }): ComponentChild {
  const [text, setText] = useState('');
  const [destination, setDestination] = useState(HERE);
  const read = useReadInput(text);
  const reading = read.readings[0];
  const { api, network } = useSession();
  const isSigned = read.pasted.kind === 'bytes' && reading?.as === 'signedMessage';
  const body = isSigned ? verificationBody(read.pasted.hex, destination) : undefined;
  const verdict = useAnswer(body && { network, body }, (asked, signal) => {
    const { signedMessage, ...settings } = asked.body;
    return api.of(asked.network).verify(signedMessage, { ...settings, signal });
  });
  useEffect(() => {
    if (begin !== undefined) setText(begin.text);
  }, [begin]);
  return (
    <div class="view">
      <div class="columns">
        <Card title="Message">
          <MessageInput
            text={text}
            onText={setText}
            label="A signed message, or anything that Warp knows"
            hint="In hex, or the JSON of an answer, a log or a request."
            read={read}
          />
          {read.pasted.kind === 'id' && (
            <p class="hint">
              These are 32 bytes: an ID. Only what they are of can be inspected; for a transaction, have its message
              signed.
            </p>
          )}
          {reading !== undefined && <DecodedMessage reading={reading} />}
          <NextStep reading={reading} />
        </Card>
        <div class="view">
          <Card title="Verified for">
            <VerifiedFor destination={destination} onChange={setDestination} />
          </Card>
          {reading !== undefined && reading.as !== 'signedMessage' && <Unsigned reading={reading} text={text} />}
        </div>
      </div>
      {verdict?.value !== undefined && <Verdict result={verdict.value} />}
      {verdict?.error !== undefined && <SignFailure failure={failureOf(verdict.error)} />}
    </div>
  );
}

function Unsigned({ reading, text }: { reading: DecodedReading; text: string }): ComponentChild {
  const { open } = useSession();
  const canSign = reading.as === 'unsignedMessage' || reading.as === 'justification';
  return (
    <Card title="Not signed">
      <p>There is no signature in it, so there is nothing to verify.</p>
      {canSign && (
        <button type="button" class="button primary" onClick={() => open('sign', text)}>
          Have it signed
        </button>
      )}
    </Card>
  );
}

function VerifiedFor(props: { destination: Destination; onChange: (next: Destination) => void }): ComponentChild {
  const { destination, onChange } = props;
  const change = (changed: Partial<Destination>) => onChange({ ...destination, ...changed });
  const onQuorum = (typed: string) => {
    const quorum = Math.round(Number(typed));
    if (typed.trim() === '') change({ quorum: undefined });
    else if (quorum >= 0 && quorum <= MAX_PERCENTAGE) change({ quorum });
  };
  return (
    <div class="stack">
      <DestinationChain
        value={destination.destinationBlockchainId}
        onValue={(destinationBlockchainId) => change({ destinationBlockchainId })}
      />
      <TextField
        label="Quorum in percent"
        hint="What the destination demands, or 67, unless you name another."
        type="number"
        placeholder="the destination's"
        value={destination.quorum === undefined ? '' : String(destination.quorum)}
        onValue={onQuorum}
      />
      <SignersFields of={destination} change={change} />
    </div>
  );
}

type Signer = VerificationResult['signers'][number];

function Verdict({ result }: { result: VerificationResult }): ComponentChild {
  const drawn = useMemo(() => drawnSigners(result), [result]);
  const total = BigInt(result.totalWeight);
  const columns: Column<Signer>[] = [
    { name: 'Bit', cell: ({ index }) => String(index) },
    nodeColumn(({ nodeIds }) => nodeIds),
    { name: 'Weight', isNumber: true, cell: ({ weight }) => shareOf(BigInt(weight), total) },
  ];
  const { problem } = result;
  const signedBy =
    problem?.kind === 'malformed signature' || problem?.kind === 'wrong signature' ? 'named as signers' : 'signed';
  return (
    <Card
      title={
        result.isValid
          ? ['Valid ', <Badge tone="good">a destination accepts it</Badge>]
          : ['Not valid ', <Badge tone="bad">{problem?.kind ?? ''}</Badge>]
      }
      className={result.isValid ? '' : 'failure-card'}
    >
      {problem !== undefined && <p class="failure-message">{problem.text}</p>}
      {problem !== undefined && (
        <p>
          <strong>{'What to do: '}</strong>
          {PROBLEM_ADVICE[problem.kind]}
        </p>
      )}
      <Warnings warnings={result.warnings} />
      <p class="weight-line">
        <strong class="weight-now">{percentOf(BigInt(result.signedWeight), total)}</strong>
        {` of the weight ${signedBy} · ${result.signers.length} validators`}
      </p>
      <WeightBar
        signedWeight={BigInt(result.signedWeight)}
        quorumWeight={BigInt(result.neededWeight)}
        targetWeight={BigInt(result.neededWeight)}
        totalWeight={total}
      />
      {result.signers.length > 0 && <WeightMap set={drawn} />}
      <Facts
        rows={[
          result.destinationBlockchainId !== undefined && [
            'Destination',
            <NamedId value={result.destinationBlockchainId} kind="chain" what="destination" />,
          ],
          [
            'Signing subnet',
            [
              <NamedId value={result.signingSubnetId} kind="subnet" what="signing subnet" />,
              <span class="muted">{RULE_WORDS[result.signingRule]}</span>,
            ],
          ],
          ['P-Chain height', grouped(result.pChainHeight)],
          epochRow(result.epoch),
          [
            'Quorum',
            [
              `${result.quorumPercentage} %: `,
              <WeightOf part={BigInt(result.neededWeight)} total={total} subnetId={result.signingSubnetId} />,
            ],
          ],
        ]}
      />
      {result.signers.length > 0 && (
        <Table<Signer> label="Signers" columns={columns} rows={result.signers} keyOf={({ index }) => index} />
      )}
    </Card>
  );
}
