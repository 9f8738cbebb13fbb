import { useEffect, useRef, useState } from 'preact/hooks';
import { SigningProgress } from '../../../api/aggregation/signing-progress.ts';
import type { AggregationEvent, SignedMessage } from '../../../client/gen/api.ts';
import { type Failure, failureOf } from '../console-api.ts';
import { useSession } from '../session.ts';
import { sentenceOf } from './failure-words.ts';
import type { SignRequest } from './snippets.ts';

/** One request for a signature, and its state. */
export interface Run {
  readonly request: SignRequest;
  readonly progress: SigningProgress;
  readonly startedMs: number;
  readonly state: 'running' | 'signed' | 'failed' | 'stopped';
  readonly tookMs?: number;
  readonly result?: SignedMessage;
  readonly failure?: Failure;
}

export interface Runner {
  readonly run: Run | undefined;
  readonly start: (request: SignRequest) => void;
  readonly stop: () => void;
}

export function useRunner(): Runner {
  const { api, network, announce, adviceOf } = useSession();
  const [run, setRun] = useState<Run>();
  /** Shows the progress, which is one object, at most once a frame. */
  const [, setVersion] = useState(0);
  const leaving = useRef<AbortController>(undefined);
  const frame = useRef(0);
  useEffect(() => () => leaving.current?.abort(), []);

  const start = (request: SignRequest) => {
    leaving.current?.abort();
    const own = new AbortController();
    leaving.current = own;
    const progress = new SigningProgress();
    const startedMs = performance.now();
    const begun: Run = { request, progress, startedMs, state: 'running' };
    setRun(begun);
    announce('Collecting signatures');
    const end = (ended: Partial<Run>) => {
      if (leaving.current !== own) return;
      setRun({ ...begun, ...ended, tookMs: performance.now() - startedMs });
      setVersion((before) => before + 1);
    };
    const onProgress = (event: AggregationEvent) => {
      progress.apply(event, performance.now() - startedMs);
      if (event.event === 'resolved') announce(`${event.data.validators.length} validators can be asked`);
      if (frame.current !== 0) return;
      frame.current = requestAnimationFrame(() => {
        frame.current = 0;
        setVersion((before) => before + 1);
      });
    };
    const client = api.of(network);
    const options = { onProgress, signal: own.signal };
    const signed =
      request.kind === 'body'
        ? client.sign(request.body, options)
        : client.signTransaction(request.txHash, { ...request.query, ...options });
    signed.then(
      (result) => {
        end({ state: 'signed', result });
        announce('Signed');
      },
      (error: unknown) => {
        if (own.signal.aborted) {
          end({ state: 'stopped' });
          return;
        }
        const failure = failureOf(error);
        end({ state: 'failed', failure });
        announce(`Not signed: ${sentenceOf(failure, adviceOf(failure.code)?.meaning, false)}`);
      },
    );
  };
  return { run, start, stop: () => leaving.current?.abort() };
}
