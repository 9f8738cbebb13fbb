import { expect, test } from 'vitest';
import type { BlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import { JobThread, untilThreadsStarted } from '../../../../src/bls/service/job-thread.ts';

const jobOf = (name: number): BlsJob => ({ kind: 'hash', message: Uint8Array.of(name) });

/** A thread whose program answers a job with what `answer` makes of it, as source text: `name` is that of the job. */
async function openThread(answer: string) {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const program = `
    import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
    const { gate, posted } = workerData;
    parentPort.postMessage('loaded');
    for (;;) {
      const seen = Atomics.load(posted, 0);
      const received = receiveMessageOnPort(parentPort);
      if (received === undefined) Atomics.wait(posted, 0, seen);
      else {
        const name = received.message.message[0];
        ${answer}
      }
    }`;
  const thread = new JobThread(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
    workerData: { gate },
  });
  await thread.started;
  const open = (): void => {
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
  };
  return { thread, open, [Symbol.asyncDispose]: () => thread.end() };
}

test('a result comes before the next job is done', async () => {
  await using opened = await openThread(`
    if (name === 2) Atomics.wait(gate, 0, 0, 5000);
    parentPort.postMessage({ result: Uint8Array.of(name + 10) });`);
  const { thread } = opened;
  const [first, second] = [thread.post(jobOf(1)), thread.post(jobOf(2))];
  expect(thread.load).toBe(2);
  expect(await first).toEqual(Uint8Array.of(11));
  expect(thread.load).toBe(1);
  opened.open();
  expect(await second).toEqual(Uint8Array.of(12));
  expect(thread.load).toBe(0);
});

test('what a job throws is for whoever asked for it, and the next job is done', async () => {
  await using opened = await openThread(`
    parentPort.postMessage(name === 1 ? { error: new TypeError('broken') } : { result: Uint8Array.of(name) });`);
  const { thread } = opened;
  const [first, second] = [thread.post(jobOf(1)), thread.post(jobOf(2))];
  await expect(first).rejects.toThrow('broken');
  expect(await second).toEqual(Uint8Array.of(2));
});

test.each([
  ['an error', `throw new TypeError('out of order');`, 'out of order'],
  ['its own end', 'process.exit(3);', 'the thread ended'],
])('%s fails all jobs that the thread has', async (_, answer, expected) => {
  await using opened = await openThread(answer);
  const { thread } = opened;
  const jobs = [thread.post(jobOf(1)), thread.post(jobOf(2))];
  for (const job of jobs) await expect(job).rejects.toThrow(expected);
  expect(thread.isOver).toBe(true);
  expect(thread.load).toBe(0);
});

test('a job that cannot be sent is refused, and no other waits for its result', async () => {
  await using opened = await openThread('parentPort.postMessage({ result: Uint8Array.of(name) });');
  const { thread } = opened;
  await expect(thread.post({ ...jobOf(1), isPlain: (() => true) as unknown as boolean })).rejects.toThrow('cloned');
  expect(await thread.post(jobOf(2))).toEqual(Uint8Array.of(2));
});

test('a program that cannot be loaded is one that has started and is over', async () => {
  const thread = new JobThread(new URL('data:text/javascript,throw new Error("no backend")'), { workerData: {} });
  const job = thread.post(jobOf(1));
  await expect(job).rejects.toThrow('no backend');
  await thread.started;
  expect(thread.isOver).toBe(true);
});

test('whoever would end the process can wait until no thread is starting', async () => {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const program = `
    import { parentPort, workerData } from 'node:worker_threads';
    Atomics.wait(workerData.gate, 0, 0, 5000);
    parentPort.postMessage('loaded');`;
  const thread = new JobThread(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
    workerData: { gate },
  });
  const order: string[] = [];
  const both = Promise.all([
    thread.started.then(() => order.push('started')),
    untilThreadsStarted().then(() => order.push('none starts')),
  ]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([]);
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
  await both;
  expect(order).toEqual(['started', 'none starts']);
  await untilThreadsStarted();
  await thread.end();
});
