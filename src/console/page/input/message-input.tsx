import type { ComponentChild } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import { failureOf } from '../console-api.ts';
import { subjectsOf } from '../find/subjects.ts';
import { useSession } from '../session.ts';
import { grouped } from '../ui/figures.ts';
import { useAnswer } from '../ui/use-answer.ts';
import { type PastedInput, readPasted } from './pasted-input.ts';

export interface ReadInput {
  readonly pasted: PastedInput;
  readonly readings: readonly DecodedReading[];
  /** Why it cannot be read. */
  readonly problem: string | undefined;
  readonly isReading: boolean;
}

/** Longest signature with its signers, beside a message. */
const SIGNATURE_BYTES = 16_384;

/** Reads what is pasted: its form in the page, its bytes by the service. */
export function useReadInput(text: string): ReadInput {
  const { api, network, facts } = useSession();
  const pasted = useMemo(() => readPasted(text), [text]);
  const hex = pasted.kind === 'bytes' ? pasted.hex : '';
  const excess = sizeProblem(hex.length / 2, facts.maxMessageBytes);
  const question = hex === '' || excess !== undefined ? undefined : { network, hex };
  const answer = useAnswer(question, (asked, signal) => api.of(asked.network).decode(asked.hex, { signal }));
  return {
    pasted,
    readings: answer?.value?.readings ?? [],
    problem: answer?.error === undefined ? excess : failureOf(answer.error).message,
    isReading: question !== undefined && answer === undefined,
  };
}

function sizeProblem(bytes: number, maxMessageBytes: number): string | undefined {
  if (bytes <= maxMessageBytes + SIGNATURE_BYTES) return undefined;
  return `This has ${grouped(bytes)} bytes; messages of more than ${grouped(maxMessageBytes)} cannot be signed.`;
}

/** A field for anything that can be read, with what is wrong with its text. */
export function MessageInput(props: {
  text: string;
  onText: (text: string) => void;
  label: string;
  hint: string;
  read: ReadInput;
}): ComponentChild {
  const { text, onText, label, hint, read } = props;
  const id = useId();
  const problem = read.pasted.kind === 'unreadable' ? read.pasted.reason : read.problem;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class={`paste ${problem === undefined ? '' : 'invalid'}`}
        rows={5}
        value={text}
        spellcheck={false}
        autocomplete="off"
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-hint`}
        placeholder="0x0000…"
        onInput={(event) => onText(event.currentTarget.value)}
      />
      <div id={`${id}-hint`}>
        {problem === undefined ? <p class="hint">{hint}</p> : <ReadProblem problem={problem} />}
        {read.pasted.kind === 'unreadable' && <KnownRequest text={text.trim()} />}
      </div>
    </div>
  );
}

/** Shorter texts are being typed. */
const MIN_REQUEST_ID = 8;

/** Leads to a request whose ID was pasted in place of a message. */
function KnownRequest({ text }: { text: string }): ComponentChild {
  const { api } = useSession();
  const mayBe = text.length >= MIN_REQUEST_ID && subjectsOf(text).some(({ kind }) => kind === 'request');
  const answer = useAnswer(mayBe ? { id: text } : undefined, ({ id }, signal) => api.knownRequest(id, signal));
  if (answer?.value === undefined) return null;
  return (
    <p>
      {'This is the ID of a request: '}
      <a href={`#/activity/${encodeURIComponent(text)}`}>what happened to it</a>
    </p>
  );
}

/** For bytes that it cannot read, the service gives a reason for each form that it knows. */
function ReadProblem({ problem }: { problem: string }): ComponentChild {
  const [lead = '', ...forms] = problem.split(/[:;]\s(?=as )/);
  return (
    <div class="problem" role="alert">
      <p>{forms.length > 0 ? `${lead.replace(/^data fits/, 'These bytes fit')}:` : lead}</p>
      {forms.length > 0 && (
        <ul>
          {forms.map((form) => (
            <li key={form}>{form.replace(/^as (\w+),/, (_, name: string) => `as ${FORM_WORDS[name] ?? name}:`)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

const FORM_WORDS: Readonly<Record<string, string>> = {
  signedMessage: 'a signed message',
  unsignedMessage: 'an unsigned message',
  payload: 'a payload',
  content: 'the content of a call',
  justification: 'a justification',
};
