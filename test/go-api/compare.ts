import pLimit from 'p-limit';
import type { CorpusEntry } from './corpus.ts';
import { findGoProblem } from './differences.ts';
import { type GoAnswer, sendGoRequest } from './send.ts';

/** Answers by the names of the entries. */
export type GoAnswers = Readonly<Record<string, GoAnswer>>;

/** The reference takes up to 20 s for a message that is not signed: all of these go on at the same time. */
const CONCURRENCY = 24;

/** Has one service answer all entries; those that depend on others at the end. */
export async function askAll(url: string, entries: readonly CorpusEntry[]): Promise<GoAnswers> {
  const limit = pLimit(CONCURRENCY);
  const ask = (isLast: boolean) =>
    Promise.all(
      entries
        .filter((entry) => entry.isLast === isLast)
        .map((entry) => limit(async () => [entry.name, await sendGoRequest(url, entry)] as const)),
    );
  return Object.fromEntries([...(await ask(false)), ...(await ask(true))]);
}

/** Each entry whose answer is not as the reference's, and not different in the way that is named. */
export function findGoProblems(entries: readonly CorpusEntry[], expected: GoAnswers, ours: GoAnswers): object[] {
  return entries.flatMap(({ name, differs }) => {
    const [reference, here] = [expected[name], ours[name]];
    if (reference === undefined || here === undefined) return [{ name, problem: 'has no answer' }];
    const problem = findGoProblem(reference, here, differs);
    return problem === undefined ? [] : [{ name, problem, reference, here }];
  });
}
