import { type ComponentChild, h } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { DecodedReading } from '../../api/message-records.ts';
import type { VerificationResult } from '../../api/verification-record.ts';
import { type Failure, failureOf } from './api-client.ts';
import { Badge, Card, Facts, Field, Id } from './controls.ts';
import { DecodedMessage } from './decoded-message.ts';
import { grouped, percentOf, shortened } from './figures.ts';
import { MessageInput, useReadInput } from './message-input.ts';
import { MAX_PERCENTAGE } from './quorum.ts';
import type { Session } from './session.ts';
import { SignFailure } from './sign-failure.ts';
import { drawnSigners, PROBLEM_ADVICE } from './verdict.ts';
import { HERE, type VerificationBody, verificationBody, type Where } from './verification-body.ts';
import { type Column, VirtualTable } from './virtual-table.ts';
import { WeightBar } from './weight-bar.ts';
import { WeightMap } from './weight-map.ts';

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
  return h('div', { class: 'view' }, [
    h('div', { class: 'columns' }, [
      h(Card, { title: 'Message' }, [
        h(MessageInput, {
          text,
          onText: setText,
          label: 'A signed message, or anything that Warp knows',
          hint: 'In hex, or the JSON of an answer, a log or a request.',
          read,
        }),
        read.pasted.kind === 'id' &&
          h(
            'p',
            { class: 'hint' },
            'These are 32 bytes: an ID. Only what they are of can be inspected; for a transaction, have its message signed.',
          ),
        reading !== undefined && h(DecodedMessage, { reading, session }),
      ]),
      h('div', { class: 'view' }, [
        h(Card, { title: 'Verified for' }, h(Destination, { where, onWhere: setWhere })),
        reading !== undefined && reading.as !== 'signedMessage' && h(Unsigned, { reading, text, session }),
      ]),
    ]),
    verdict.result !== undefined && h(Verdict, { result: verdict.result, session }),
    verdict.failure !== undefined && h(SignFailure, { failure: verdict.failure, session }),
  ]);
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
  return h(Card, { title: 'Not signed' }, [
    h('p', null, 'There is no signature in it, so there is nothing to verify.'),
    canSign &&
      h(
        'button',
        { type: 'button', class: 'button primary', onClick: () => session.open('sign', text) },
        'Have it signed',
      ),
  ]);
}

function Destination({ where, onWhere }: { where: Where; onWhere: (where: Where) => void }): ComponentChild {
  const text =
    (name: 'destinationBlockchainId' | 'pChainHeight' | 'signingSubnetId', placeholder: string) =>
    (id: string, describedBy: string | undefined) =>
      h('input', {
        id,
        type: 'text',
        value: where[name],
        placeholder,
        spellcheck: false,
        autocomplete: 'off',
        'aria-describedby': describedBy,
        onInput: (event: Event) => onWhere({ ...where, [name]: (event.currentTarget as HTMLInputElement).value }),
      });
  return h('div', { class: 'quorum-controls' }, [
    h(Field, {
      label: 'The validators of',
      children: (id) =>
        h(
          'select',
          {
            id,
            value: where.at,
            onChange: (event: Event) =>
              onWhere({ ...where, at: (event.currentTarget as HTMLSelectElement).value as Where['at'] }),
          },
          [
            h('option', { value: 'now' }, 'now: the proposed height'),
            h('option', { value: 'destination' }, 'the current epoch of a destination chain'),
            h('option', { value: 'height' }, 'a P-Chain height'),
          ],
        ),
    }),
    where.at === 'destination' &&
      h(Field, { label: 'Destination chain', children: text('destinationBlockchainId', 'in cb58 or hex') }),
    where.at === 'height' &&
      h(Field, { label: 'P-Chain height', hint: 'A whole number.', children: text('pChainHeight', '0') }),
    h(Field, {
      label: 'Quorum in percent',
      hint: 'What the destination asks for: 67, unless it is configured otherwise.',
      children: (id, describedBy) =>
        h('input', {
          ...{ id, type: 'number', min: 0, max: MAX_PERCENTAGE, value: where.quorum, 'aria-describedby': describedBy },
          onInput: (event: Event) => {
            const typed = Math.round(Number((event.currentTarget as HTMLInputElement).value));
            if (typed >= 0 && typed <= MAX_PERCENTAGE) onWhere({ ...where, quorum: typed });
          },
        }),
    }),
    h('details', { class: 'more' }, [
      h('summary', null, 'Another signing subnet'),
      h(Field, {
        label: 'Signing subnet',
        hint: 'The subnet of the source chain, unless you name another.',
        children: text('signingSubnetId', 'in cb58 or hex'),
      }),
    ]),
  ]);
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
      cell: ({ nodeIds }) => h('code', { title: nodeIds.join(', ') }, shortened(nodeIds[0] ?? '', 12, 8)),
    },
    { name: 'Weight', className: 'number', cell: ({ weight }) => percentOf(BigInt(weight), total) },
  ];
  const { problem } = result;
  const signedBy =
    problem?.kind === 'malformed signature' || problem?.kind === 'wrong signature' ? 'named as signers' : 'signed';
  return h(
    Card,
    {
      title: result.isValid
        ? ['Valid ', h(Badge, { tone: 'good' }, 'a destination accepts it')]
        : ['Not valid ', h(Badge, { tone: 'bad' }, problem?.kind ?? '')],
      className: result.isValid ? 'result-card good' : 'failure-card',
    },
    [
      problem !== undefined && h('p', { class: 'failure-message' }, problem.text),
      problem !== undefined && h('p', null, [h('strong', null, 'What to do: '), PROBLEM_ADVICE[problem.kind]]),
      h('p', { class: 'weight-line' }, [
        h('strong', { class: 'weight-now' }, percentOf(BigInt(result.signedWeight), total)),
        ` of the weight ${signedBy} · ${result.signers.length} validators`,
      ]),
      h(WeightBar, {
        signedWeight: BigInt(result.signedWeight),
        quorumWeight: BigInt(result.neededWeight),
        targetWeight: BigInt(result.neededWeight),
        totalWeight: total,
      }),
      result.signers.length > 0 && h(WeightMap, { progress: drawn, version: 0 }),
      h(Facts, {
        rows: [
          [
            'Signing subnet',
            [
              session.chainNames.has(result.signingSubnetId) &&
                h('strong', null, session.chainNames.get(result.signingSubnetId)),
              h(Id, { value: result.signingSubnetId, what: 'signing subnet' }),
            ],
          ],
          ['P-Chain height', grouped(result.pChainHeight)],
          ['Quorum', `${result.quorumPercentage} %: ${grouped(result.neededWeight)} of ${grouped(result.totalWeight)}`],
        ],
      }),
      result.signers.length > 0 &&
        h(VirtualTable<Signer>, {
          label: 'Signers',
          columns,
          rows: result.signers,
          keyOf: ({ index }) => index,
          maxHeight: 320,
        }),
    ],
  );
}
