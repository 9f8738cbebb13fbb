import type { ComponentChild } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import { failureOf } from '../api-client.ts';
import { useSession } from '../session.ts';
import { grouped } from '../ui/figures.ts';
import { type PastedInput, readPasted } from './pasted-input.ts';

export interface ReadInput {
  readonly pasted: PastedInput;
  readonly readings: readonly DecodedReading[];
  /** Why it cannot be read. */
  readonly problem: string | undefined;
  readonly isReading: boolean;
}

const NOTHING: ReadInput = { pasted: { kind: 'empty' }, readings: [], problem: undefined, isReading: false };
/** Longest signature with its signers, beside a message. */
const SIGNATURE_BYTES = 16_384;
/** Wait after the last key, so that typing does not send a request for each. */
const QUIET_MS = 150;

/** Reads what is pasted: its form in the page, its bytes by the service. */
export function useReadInput(text: string): ReadInput {
  const [state, setState] = useState<ReadInput>(NOTHING);
  const { api, network, facts } = useSession();
  const { maxMessageBytes } = facts;
  useEffect(() => {
    const pasted = readPasted(text);
    if (pasted.kind !== 'bytes') {
      setState({ ...NOTHING, pasted });
      return undefined;
    }
    const bytes = pasted.hex.length / 2;
    if (bytes > maxMessageBytes + SIGNATURE_BYTES) {
      const problem = `This has ${grouped(bytes)} bytes; messages of more than ${grouped(maxMessageBytes)} cannot be signed.`;
      setState({ ...NOTHING, pasted, problem });
      return undefined;
    }
    const leaving = new AbortController();
    setState((before) => ({
      ...(before.pasted.kind === 'bytes' && before.pasted.hex === pasted.hex ? before : NOTHING),
      pasted,
      isReading: true,
    }));
    const timer = setTimeout(() => {
      api.decode(network, pasted.hex, leaving.signal).then(
        ({ readings }) => setState({ pasted, readings, problem: undefined, isReading: false }),
        (error: unknown) => {
          if (!leaving.signal.aborted)
            setState({ pasted, readings: [], problem: failureOf(error).message, isReading: false });
        },
      );
    }, QUIET_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [text, network, api]);
  return state;
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
        onInput={(event: Event) => onText((event.currentTarget as HTMLTextAreaElement).value)}
      />
      <div id={`${id}-hint`}>
        {problem === undefined ? <p class="hint">{hint}</p> : <ReadProblem problem={problem} />}
      </div>
    </div>
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
