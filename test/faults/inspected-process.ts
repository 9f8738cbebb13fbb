import { once } from 'node:events';

/** Makes a process inspectable, on a free port. */
export const INSPECT_FLAG = '--inspect=127.0.0.1:0';

/** Resources that an idle process holds. */
export interface Holdings {
  /** Heap and external buffers of its main thread, after a full garbage collection. */
  readonly bytes: number;
  readonly sockets: number;
  readonly timers: number;
}

export interface InspectedProcess extends Disposable {
  holdings(): Promise<Holdings>;
}

const EXPRESSION = `JSON.stringify({
  memory: process.memoryUsage(),
  resources: process.getActiveResourcesInfo(),
})`;

/** @param log what the process has written since it was started with {@link INSPECT_FLAG} */
export async function inspectProcess(log: string): Promise<InspectedProcess> {
  const [, url] = /^Debugger listening on (ws:\S+)$/m.exec(log) ?? [];
  if (url === undefined) throw new Error(`no inspector listens:\n${log}`);
  const socket = new WebSocket(url);
  const waiting = new Map<number, PromiseWithResolvers<{ readonly result?: { readonly value?: string } }>>();
  let lastID = 0;
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(String(data));
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(error.message));
    waiting.delete(id);
  });
  socket.addEventListener('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the inspected process has ended'));
  });
  await once(socket, 'open');

  function call(method: string, params: object = {}) {
    lastID += 1;
    const answer = Promise.withResolvers<{ readonly result?: { readonly value?: string } }>();
    waiting.set(lastID, answer);
    socket.send(JSON.stringify({ id: lastID, method, params }));
    return answer.promise;
  }

  return {
    async holdings() {
      // What the first one finalizes, the second one frees.
      for (let times = 0; times < 2; times += 1) await call('HeapProfiler.collectGarbage');
      const { result } = await call('Runtime.evaluate', { expression: EXPRESSION, returnByValue: true });
      const { memory, resources } = JSON.parse(result?.value ?? '') as {
        memory: NodeJS.MemoryUsage;
        resources: string[];
      };
      return {
        bytes: memory.heapUsed + memory.arrayBuffers,
        sockets: resources.filter((name) => name === 'TCPSocketWrap').length,
        timers: resources.filter((name) => name === 'Timeout').length,
      };
    },
    [Symbol.dispose]: () => socket.close(),
  };
}
