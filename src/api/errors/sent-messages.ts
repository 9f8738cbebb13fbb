import { type Static, Type } from 'typebox';
import { integer, optionalText, text } from '../../lib/encoding/schema.ts';
import type { SentMessage } from '../../pchain/codec/evm-receipt.ts';
import { readPayload } from '../../warp/reading.ts';

/** The `details` of an error about an EVM transaction: the messages that it sent. */
export const SentMessages = Type.Object(
  {
    messages: Type.Array(
      Type.Object(
        {
          logIndex: integer('The value of the parameter that chooses this message'),
          messageId: text('In cb58'),
          destinationBlockchainId: optionalText('Of a Teleporter message, in cb58: the blockchain that it is for'),
          bytes: integer('Size of the unsigned message'),
        },
        { title: 'SentMessage' },
      ),
    ),
    messagesOmitted: integer('How many more messages the transaction sent'),
  },
  { title: 'SentMessages', description: 'Where an EVM transaction sent several messages: which' },
);

/** Bounds the error answer. */
const MAX_MESSAGES = 100;

/** @param most the number of messages that are listed */
export function presentSentMessages(sent: readonly SentMessage[], most = MAX_MESSAGES): Static<typeof SentMessages> {
  const shown = sent.slice(0, most);
  return {
    messages: shown.map(({ logIndex, message }) => {
      const payload = readPayload(message.payload);
      const content = payload.kind === 'AddressedCall' ? payload.content : undefined;
      return {
        logIndex,
        messageId: message.id,
        bytes: message.bytes.length,
        ...(content?.kind === 'TeleporterMessage' && { destinationBlockchainId: content.destinationBlockchainID }),
      };
    }),
    messagesOmitted: sent.length - shown.length,
  };
}
