import { publicExample } from '../../api/openapi/example-request.ts';
import { ERROR_CODES } from '../../http/errors/error-codes.ts';
import type { Network } from '../../network/network.ts';
import { MAX_UNSIGNED_MESSAGE_LENGTH } from '../../warp/unsigned-message.ts';

export interface ServedConsole {
  readonly networks: readonly Network[];
  readonly version: string;
  /** Whether there are examples that succeed. */
  readonly hasDevnet: boolean;
  /** Whether all clients may have the figures of the service, not operators alone. */
  readonly areFiguresPublic: boolean;
}

export type ConsoleFacts = ReturnType<typeof consoleFacts>;

/**
 * Facts about the service that the page loads first.
 *
 * @param isKeyNeeded whether requests without an API key are refused
 */
export function consoleFacts({ networks, version, hasDevnet, areFiguresPublic }: ServedConsole, isKeyNeeded: boolean) {
  const example = publicExample(networks.flatMap(({ pathNames }) => pathNames))?.requests[0]?.value;
  return {
    version,
    networks: networks.map(({ name, pathNames }) => ({ name, aliases: pathNames.filter((alias) => alias !== name) })),
    hasDevnet,
    areFiguresPublic,
    isKeyNeeded,
    /** Longest message that can be signed. */
    maxMessageBytes: MAX_UNSIGNED_MESSAGE_LENGTH,
    /** An example of a public network, which validators refuse. */
    ...(!hasDevnet && example && { example }),
    errorCodes: ERROR_CODES,
  };
}
