/** All that the package `warp-signature-aggregator-client` exports. */
export type {
  CallOptions,
  ClientOptions,
  SignatureAggregatorClient,
  SignOptions,
  UnsignedMessageInput,
} from './client.ts';
export { createClient } from './client.ts';
export { type ClientErrorCode, SignatureAggregatorError } from './client-error.ts';
export type * from './gen/api.ts';
export type { MessagesOptions, ReceivedMessage } from './received-messages.ts';
export type { AccessList, EmittedMessage, ReceiptLog } from './warp-messages.ts';
export {
  fromReceipt,
  gasOfDelivery,
  messageIdOf,
  toAccessList,
  toPredicate,
  WARP_PRECOMPILE,
} from './warp-messages.ts';
