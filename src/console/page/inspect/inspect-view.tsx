import type { ComponentChild } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import type { VerificationResult } from '../../../api/messages/verification-record.ts';
import { type Failure, failureOf } from '../api-client.ts';
import type { Session } from '../session.ts';
import { MessageInput, useReadInput } from '../sign/message-input.tsx';
import { MAX_PERCENTAGE } from '../sign/quorum.ts';
import { SignFailure } from '../sign/sign-failure.tsx';
import { Badge, Card, Facts, Field, Id } from '../ui/controls.tsx';
import { grouped, percentOf, shortened } from '../ui/figures.ts';
import { type Column, VirtualTable } from '../ui/virtual-table.tsx';
import { WeightBar } from '../ui/weight-bar.tsx';
import { WeightMap } from '../ui/weight-map.tsx';
import { DecodedMessage } from './decoded-message.tsx';
import { drawnSigners, PROBLEM_ADVICE } from './verdict.ts';
import { HERE, type VerificationBody, verificationBody, type Where } from './verification-body.ts';

/** Any message: what it says, who signed it, and whether a destination would accept it. */
export function InspectView({ session, begin }: { session: Session; begin: string | undefined }): ComponentChild {
  const [text, setText] = useState('');
  const [where, setWhere] = useState(HERE);
  const read = useReadInput(text, session);
  const reading = read.readings[0];
  const verdict = useVerdict(session, reading, read.pasted.kind === 'bytes' ? read.pasted.hex : '', where);
  useEffect(() => {
    if (begin !== undefined) setText(begin);
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
          {reading !== undefined && <DecodedMessage reading={reading} session={session} />}
        </Card>
        <div class="view">
          <Card title="Verified for">
            <Destination where={where} onWhere={setWhere} />
          </Card>
          {reading !== undefined && reading.as !== 'signedMessage' && (
            <Unsigned reading={reading} text={text} session={session} />
          )}
        </div>
      </div>
      {verdict.result !== undefined && <Verdict result={verdict.result} session={session} />}
      {verdict.failure !== undefined && <SignFailure failure={verdict.failure} session={session} />}
    </div>
  );
}

function Unsigned({
  reading,
  text,
  session,
}: {
  reading: DecodedReading;
  text: string;
  session: Session;
}): ComponentChild {
  const canSign = reading.as === 'unsignedMessage' || reading.as === 'justification';
  return (
    <Card title="Not signed">
      <p>There is no signature in it, so there is nothing to verify.</p>
      {canSign && (
        <button type="button" class="button primary" onClick={() => session.open('sign', text)}>
          Have it signed
        </button>
      )}
    </Card>
  );
}

function Destination({ where, onWhere }: { where: Where; onWhere: (where: Where) => void }): ComponentChild {
  const text =
    (name: 'destinationBlockchainId' | 'pChainHeight' | 'signingSubnetId', placeholder: string) =>
    (id: string, describedBy: string | undefined) => (
      <input
        id={id}
        type="text"
        value={where[name]}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        aria-describedby={describedBy}
        onInput={(event: Event) => onWhere({ ...where, [name]: (event.currentTarget as HTMLInputElement).value })}
      />
    );
  return (
    <div class="quorum-controls">
      <Field
        label="The validators of"
        children={(id) => (
          <select
            id={id}
            value={where.at}
            onChange={(event: Event) =>
              onWhere({ ...where, at: (event.currentTarget as HTMLSelectElement).value as Where['at'] })
            }
          >
            <option value="now">now: the proposed height</option>
            <option value="destination">the current epoch of a destination chain</option>
            <option value="height">a P-Chain height</option>
          </select>
        )}
      />
      {where.at === 'destination' && (
        <Field label="Destination chain" children={text('destinationBlockchainId', 'in cb58 or hex')} />
      )}
      {where.at === 'height' && (
        <Field label="P-Chain height" hint="A whole number." children={text('pChainHeight', '0')} />
      )}
      <Field
        label="Quorum in percent"
        hint="What the destination asks for: 67, unless it is configured otherwise."
        children={(id, describedBy) => (
          <input
            {...{
              id,
              type: 'number',
              min: 0,
              max: MAX_PERCENTAGE,
              value: where.quorum,
              'aria-describedby': describedBy,
            }}
            onInput={(event: Event) => {
              const typed = Math.round(Number((event.currentTarget as HTMLInputElement).value));
              if (typed >= 0 && typed <= MAX_PERCENTAGE) onWhere({ ...where, quorum: typed });
            }}
          />
        )}
      />
      <details class="more">
        <summary>Another signing subnet</summary>
        <Field
          label="Signing subnet"
          hint="The subnet of the source chain, unless you name another."
          children={text('signingSubnetId', 'in cb58 or hex')}
        />
      </details>
    </div>
  );
}

const QUIET_MS = 200;

/** Asks whenever what is asked for has changed, and nothing came after it for a moment. Meanwhile there is no verdict. */
function useVerdict({ api, network }: Session, reading: DecodedReading | undefined, hex: string, where: Where) {
  const [state, setState] = useState<{ question?: string; result?: VerificationResult; failure?: Failure }>({});
  const body: VerificationBody | undefined = reading?.as === 'signedMessage' ? verificationBody(hex, where) : undefined;
  const question = JSON.stringify([network, body]);
  useEffect(() => {
    if (body === undefined) return undefined;
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      api.verify(network, body, leaving.signal).then(
        (result) => setState({ question, result }),
        (error: unknown) => {
          if (!leaving.signal.aborted) setState({ question, failure: failureOf(error) });
        },
      );
    }, QUIET_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [question]);
  // What was said of another question, such as of a lower quorum, is no answer to this one.
  return body !== undefined && state.question === question ? state : {};
}

type Signer = VerificationResult['signers'][number];

function Verdict({ result, session }: { result: VerificationResult; session: Session }): ComponentChild {
  const drawn = useMemo(() => drawnSigners(result), [result]);
  const total = BigInt(result.totalWeight);
  const columns: Column<Signer>[] = [
    { name: 'Bit', className: 'number', cell: ({ index }) => String(index) },
    {
      name: 'Validator',
      className: 'wide',
      cell: ({ nodeIds }) => <code title={nodeIds.join(', ')}>{shortened(nodeIds[0] ?? '', 12, 8)}</code>,
    },
    { name: 'Weight', className: 'number', cell: ({ weight }) => percentOf(BigInt(weight), total) },
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
      className={result.isValid ? 'result-card good' : 'failure-card'}
    >
      {problem !== undefined && <p class="failure-message">{problem.text}</p>}
      {problem !== undefined && (
        <p>
          <strong>{'What to do: '}</strong>
          {PROBLEM_ADVICE[problem.kind]}
        </p>
      )}
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
      {result.signers.length > 0 && <WeightMap progress={drawn} version={0} />}
      <Facts
        rows={[
          [
            'Signing subnet',
            [
              session.chainNames.has(result.signingSubnetId) && (
                <strong>{session.chainNames.get(result.signingSubnetId)}</strong>
              ),
              <Id value={result.signingSubnetId} what="signing subnet" />,
            ],
          ],
          ['P-Chain height', grouped(result.pChainHeight)],
          ['Quorum', `${result.quorumPercentage} %: ${grouped(result.neededWeight)} of ${grouped(result.totalWeight)}`],
        ]}
      />
      {result.signers.length > 0 && (
        <VirtualTable<Signer>
          label={'Signers'}
          columns={columns}
          rows={result.signers}
          keyOf={({ index }) => index}
          maxHeight={320}
        />
      )}
    </Card>
  );
}
