import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { DevnetOptions } from '../../src/devnet/devnet.ts';
import type { DevnetValidator } from '../../src/devnet/node/devnet-validator.ts';
import { type Refusal, THROTTLED, UNEXPECTED } from '../../src/devnet/node/signing-rules.ts';
import type { ValidatorConnection } from '../../src/devnet/node/validator-connection.ts';
import type { ValidatorHooks } from '../../src/devnet/node/validator-hooks.ts';
import type { NodeVersion } from '../../src/p2p/connection/handshake.ts';
import type { UnsignedMessage } from '../../src/warp/unsigned-message.ts';
import { sendAnswer } from './answer-faults.ts';
import type { Behaviour } from './behaviour.ts';
import { falseAddresses } from './false-addresses.ts';
import { signAs } from './signing-faults.ts';
import { createTlsContext } from './tls-faults.ts';

/** What is wrong with a network from its start on. */
export interface DevnetFaults extends Pick<DevnetOptions, 'sharedBlsKeys' | 'keyless'> {
  /** How validators act, by their index. */
  readonly behaviours?: ReadonlyMap<number, Behaviour>;
}

/** The first release with Warp messages of which nodes of today are sure that it is too old. */
const OLD_VERSION: NodeVersion = { major: 1, minor: 9, patch: 0 };
const NOT_TLS = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n');
/** What shows on new connections only: those that stand are closed. */
const SHOWN_ON_CONNECTING: ReadonlySet<Behaviour['kind']> = new Set([
  'not admitting',
  'hanging TLS',
  'garbage TLS',
  'wrong certificate',
  'malformed certificate',
  'old version',
  'lying about addresses',
]);
/** Messages of which a lagging validator counts its refusals. */
const MAX_LAGGING_MESSAGES = 10_000;

/** Ends what a validator has begun under its present and earlier behaviours. */
const endings = new WeakMap<DevnetValidator, AsyncDisposableStack>();

export function faultOptions({ behaviours = new Map(), ...options }: DevnetFaults = {}): Partial<DevnetOptions> {
  return {
    ...options,
    prepare(validators) {
      for (const [index, behaviour] of behaviours) setBehaviour(validators[index] as DevnetValidator, behaviour);
    },
  };
}

/** Has a validator act so from now on. */
export function setBehaviour(validator: DevnetValidator, behaviour: Behaviour): void {
  const { kind } = behaviour;
  const begun = endings.get(validator) ?? new AsyncDisposableStack();
  endings.set(validator, begun);
  const stop = async (): Promise<void> => {
    endings.delete(validator);
    await begun.disposeAsync();
  };
  validator.setHooks({
    ...connectionHooks(validator, behaviour),
    ...requestHooks(validator, behaviour, begun),
    sign: (message) => signAs(behaviour, validator.surroundings.keys, validator.role.keyIndex, message),
    send: (connection, answer) => sendAnswer(connection, answer, behaviour),
    stop,
  });
  for (const connection of validator.connections) {
    if (kind === 'frozen') connection.freeze();
    else connection.thaw();
    if (SHOWN_ON_CONNECTING.has(kind)) connection.close(`the validator is ${kind}`);
  }
}

function connectionHooks(validator: DevnetValidator, behaviour: Behaviour): ValidatorHooks {
  const { identity } = validator.role;
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all others connect as they should
  switch (behaviour.kind) {
    case 'frozen':
    case 'hanging TLS':
      return { isFrozen: true };
    case 'garbage TLS':
      return { accept: answerWithoutTls };
    case 'wrong certificate':
    case 'malformed certificate':
      return { secureContext: () => createTlsContext(identity, behaviour) };
    case 'old version':
      return { version: OLD_VERSION };
    case 'not admitting':
      return { admitsNobody: true };
    case 'lying about addresses':
      // All addresses, whatever the peer knows.
      return { peerList: (pick) => falseAddresses(pick(true), { ...validator.address, identity }) };
    default:
      return {};
  }
}

function requestHooks(validator: DevnetValidator, behaviour: Behaviour, begun: AsyncDisposableStack): ValidatorHooks {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all others take requests as they should
  switch (behaviour.kind) {
    case 'silent':
      return { request: () => undefined };
    case 'slow':
      return { request: delaying(behaviour.delayMs, behaviour.answers) };
    case 'moving':
      return { request: leaving(validator, begun, () => validator.restart()) };
    case 'twin':
      return { request: leaving(validator, begun, () => bringUpTwin(validator, begun)) };
    case 'refusing': {
      const { code = THROTTLED, message = 'throttled' } = behaviour;
      return { refuse: () => ({ code, message }) };
    }
    case 'lagging':
      return { refuse: refusingFirst(behaviour.refusals) };
    default:
      return {};
  }
}

function answerWithoutTls(socket: Socket): void {
  socket.on('error', () => undefined);
  socket.end(NOT_TLS, () => socket.destroy());
}

type RequestHook = NonNullable<ValidatorHooks['request']>;

function delaying(delayMs: number, answers = Number.POSITIVE_INFINITY): RequestHook {
  let delayed = 0;
  return (connection: ValidatorConnection, answer) => {
    if (delayed >= answers) return answer();
    delayed += 1;
    connection.after(delayMs, answer);
  };
}

/** Leaves instead of answering the first request. */
function leaving(validator: DevnetValidator, begun: AsyncDisposableStack, leave: () => Promise<void>): RequestHook {
  let hasLeft = false;
  return (_connection, answer) => {
    if (hasLeft) return answer();
    hasLeft = true;
    const left = leave().catch((error: unknown) => {
      const { logger } = validator.surroundings;
      logger.warn({ nodeID: validator.nodeID, err: error }, 'embedded validator: cannot come up elsewhere');
    });
    begun.defer(() => left);
  };
}

async function bringUpTwin(validator: DevnetValidator, begun: AsyncDisposableStack): Promise<void> {
  const twin = validator.createTwin();
  twin.setHooks({ request: () => undefined });
  begun.defer(() => twin.stop());
  await twin.start();
  for (const connection of validator.connections) connection.close('its twin has come up');
}

function refusingFirst(count: number): (message: UnsignedMessage) => Refusal | undefined {
  const refused = new LRUCache<string, number>({ max: MAX_LAGGING_MESSAGES });
  return ({ id }) => {
    const before = refused.get(id) ?? 0;
    if (before >= count) return undefined;
    refused.set(id, before + 1);
    return { code: UNEXPECTED, message: 'the message is not known yet' };
  };
}
