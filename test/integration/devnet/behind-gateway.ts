import type { Example } from '../../../src/devnet/devnet-schemas.ts';
import type { Gateway } from '../../devnet/gateway.ts';
import { PASSWORD, USER } from '../../devnet/gateway-faults.ts';
import type { Answer, serve } from '../service/running-service.ts';

export type Service = Awaited<ReturnType<typeof serve>>;

/** Error codes by the names of examples. */
export type Failures = Readonly<Record<string, unknown>>;

/** Has every example signed. While blocks of the P-Chain are read, a removal is to be asked for again. */
export const askAll = ({ get, post }: Service, examples: readonly Example[]): Promise<Answer[]> =>
  Promise.all(
    examples.map(async ({ method, path, body }) => {
      let answer: Answer;
      do answer = method === 'GET' ? await get(path) : await post(body, path);
      while (answer.body['code'] === 'justification_pending');
      return answer;
    }),
  );

export function failuresOf(examples: readonly Example[], answers: readonly Answer[]): Failures {
  const failures = examples.flatMap(({ name }, index) => {
    const { status, body } = answers[index]!;
    return status === 201 ? [] : [[name, body['code']]];
  });
  return Object.fromEntries(failures);
}

/** With user and password, which all gateways but one ignore. */
export const endpointsOf = (...gateways: readonly Pick<Gateway, 'url'>[]): object[] =>
  gateways.map(({ url }) => ({ baseUrl: url.replace('://', `://${USER}:${encodeURIComponent(PASSWORD)}@`) }));
