import type { ComponentChild, ComponentChildren } from 'preact';
import type { DecodedPayload, DecodedReading } from '../../../api/messages/message-records.ts';
import type { Session } from '../session.ts';
import { Badge, Facts, Id } from '../ui/controls.tsx';
import { duration, grouped, tokenAmount, unixTime } from '../ui/figures.ts';
import { textOfHex } from '../ui/hex.ts';
import { readTokenTransfer } from './token-transfer.ts';

type Content = NonNullable<Extract<DecodedPayload, { kind: 'AddressedCall' }>['content']>;
type Message = Extract<DecodedReading, { as: 'signedMessage' | 'unsignedMessage' }>;
type Rows = readonly (readonly [string, ComponentChildren] | undefined | false)[];

const READING_NAMES: Readonly<Record<DecodedReading['as'], string>> = {
  signedMessage: 'Signed Warp message',
  unsignedMessage: 'Unsigned Warp message',
  payload: 'Warp payload',
  content: 'Content of an addressed call',
  justification: 'Justification',
};

/** What pasted bytes say. */
export function DecodedMessage({ reading, session }: { reading: DecodedReading; session: Session }): ComponentChild {
  return (
    <div class="decoded">
      <p class="decoded-lead">
        <Badge tone={reading.as === 'signedMessage' ? 'good' : 'info'}>{READING_NAMES[reading.as]}</Badge>
        <span class="decoded-what">{summaryOf(reading)}</span>
      </p>
      {details(reading, session)}
    </div>
  );
}

/** One line: what it is about. */
function summaryOf(reading: DecodedReading): string {
  switch (reading.as) {
    case 'signedMessage':
    case 'unsignedMessage':
    case 'payload':
      return summaryOfPayload(reading.payload);
    case 'content':
      return summaryOfContent(reading.content);
    case 'justification':
      return reading.justification.kind === 'SubnetIDIndex'
        ? `Validator ${reading.justification.index} of a subnet's conversion`
        : 'The registration of an L1 validator';
  }
}

function summaryOfPayload(payload: DecodedPayload): string {
  switch (payload.kind) {
    case 'Hash':
      return 'A hash, such as that of a block';
    case 'AddressedCall':
      return payload.content === undefined ? 'A call with bytes of its own' : summaryOfContent(payload.content);
    case 'unknown':
      return 'A payload of no known kind';
  }
}

function summaryOfContent(content: Content): string {
  switch (content.kind) {
    case 'SubnetToL1Conversion':
      return 'A subnet has become an L1';
    case 'RegisterL1Validator':
      return 'An L1 asks the P-Chain to register a validator';
    case 'L1ValidatorRegistration':
      return content.registered
        ? 'The P-Chain confirms that an L1 validator is registered'
        : 'The P-Chain confirms that an L1 validator is registered no more, and never will be';
    case 'L1ValidatorWeight':
      return content.weight === '0'
        ? 'An L1 validator is removed: its weight becomes 0'
        : `The weight of an L1 validator becomes ${grouped(content.weight)}`;
    case 'ValidatorUptime':
      return `An L1 validator was up for ${duration(Number(content.totalUptime) * 1_000)}`;
    case 'TeleporterMessage': {
      const transfer = readTokenTransfer(content.message);
      return transfer === undefined ? 'A Teleporter message to a contract' : `${transfer.type}, by Teleporter`;
    }
  }
}

function details(reading: DecodedReading, session: Session): ComponentChildren {
  switch (reading.as) {
    case 'signedMessage':
    case 'unsignedMessage':
      return messageDetails(reading, session);
    case 'payload':
      return payloadDetails(reading.payload, session);
    case 'content':
      return contentDetails(reading.content, session);
    case 'justification': {
      const { justification } = reading;
      if (justification.kind === 'SubnetIDIndex') {
        return group('Validator of the conversion', [
          ['Subnet', id(justification.subnetId, 'subnet ID')],
          ['Index', String(justification.index)],
          ['Validation', id(justification.validationId, 'validation ID')],
        ]);
      }
      const { content, validationId } = justification;
      return [
        group('Registration', [
          validationId !== undefined && ['Validation', id(validationId, 'validation ID')],
          ['Message', hexValue(justification.message, 'registration message')],
        ]),
        content !== undefined && contentDetails(content, session),
      ];
    }
  }
}

function messageDetails(message: Message, session: Session): ComponentChildren {
  const { network, networkId, sourceChain, sourceBlockchainId } = message;
  const source = sourceChain === undefined ? session.chainNames.get(sourceBlockchainId) : `${sourceChain}-Chain`;
  return [
    group('Message', [
      ['Network', network === undefined ? `ID ${networkId}` : `${network} (ID ${networkId})`],
      [
        'Source chain',
        [source !== undefined && <strong>{source}</strong>, id(sourceBlockchainId, 'source blockchain ID')],
      ],
      ['Message ID', id(message.messageId, 'message ID')],
      message.as === 'signedMessage' && [
        'Signers',
        `${message.signature.signers.length} validators, by their index in the set`,
      ],
    ]),
    payloadDetails(message.payload, session),
  ];
}

function payloadDetails(payload: DecodedPayload, session: Session): ComponentChildren {
  switch (payload.kind) {
    case 'Hash':
      return group('Hash payload', [['Hash', id(`0x${payload.hash}`, 'hash')]]);
    case 'AddressedCall': {
      const { sourceAddress, content } = payload;
      return [
        group('Addressed call', [
          ['Sent by', sourceAddress === '' ? 'the chain itself' : id(`0x${sourceAddress}`, 'source address')],
          content === undefined && ['Bytes', bytesValue(payload.payload, 'payload')],
        ]),
        content !== undefined && contentDetails(content, session),
      ];
    }
    case 'unknown':
      return group('Payload', [
        ['Not known', payload.reason],
        ['Bytes', bytesValue(payload.bytes, 'payload')],
      ]);
  }
}

function contentDetails(content: Content, session: Session): ComponentChildren {
  switch (content.kind) {
    case 'SubnetToL1Conversion':
      return group('Subnet conversion', [['Conversion ID', id(content.conversionId, 'conversion ID')]]);
    case 'RegisterL1Validator':
      return group('Register L1 validator', [
        ['Node', id(content.nodeId, 'NodeID')],
        ['Weight', grouped(content.weight)],
        ['Subnet', id(content.subnetId, 'subnet ID')],
        ['Until', unixTime(content.expiry)],
        ['Validation', id(content.validationId, 'validation ID')],
        ['BLS key', id(`0x${content.blsPublicKey}`, 'BLS public key')],
        ['Balance goes back to', ownerValue(content.remainingBalanceOwner)],
        ['Can be disabled by', ownerValue(content.disableOwner)],
      ]);
    case 'L1ValidatorRegistration':
      return group('L1 validator registration', [
        ['Registered', content.registered ? 'yes' : 'no'],
        ['Validation', id(content.validationId, 'validation ID')],
      ]);
    case 'L1ValidatorWeight':
      return group('L1 validator weight', [
        ['Weight', grouped(content.weight)],
        ['Nonce', content.nonce],
        ['Validation', id(content.validationId, 'validation ID')],
      ]);
    case 'ValidatorUptime':
      return group('Validator uptime', [
        ['Uptime', `${grouped(content.totalUptime)} s (${duration(Number(content.totalUptime) * 1_000)})`],
        ['Validation', id(content.validationId, 'validation ID')],
      ]);
    case 'TeleporterMessage':
      return teleporterDetails(content, session);
  }
}

function teleporterDetails(
  content: Extract<Content, { kind: 'TeleporterMessage' }>,
  session: Session,
): ComponentChildren {
  const transfer = readTokenTransfer(content.message);
  const destination = session.chainNames.get(content.destinationBlockchainId);
  return [
    group('Teleporter message', [
      ['From', id(content.originSenderAddress, 'sender address')],
      ['To', id(content.destinationAddress, 'destination address')],
      [
        'On chain',
        [
          destination !== undefined && <strong>{destination}</strong>,
          id(content.destinationBlockchainId, 'destination blockchain ID'),
        ],
      ],
      ['Nonce', grouped(content.messageNonce)],
      ['Gas limit', grouped(content.requiredGasLimit)],
      [
        'Relayers',
        content.allowedRelayerAddresses.length === 0
          ? 'anybody may deliver it'
          : content.allowedRelayerAddresses.join(', '),
      ],
      content.receipts.length > 0 && [
        'Receipts',
        content.receipts.map(({ receivedMessageNonce }) => `nonce ${receivedMessageNonce}`).join(', '),
      ],
      transfer === undefined && ['Bytes', bytesValue(content.message, 'Teleporter payload')],
    ]),
    transfer !== undefined &&
      group(
        `Token transfer: ${transfer.type}`,
        transfer.fields.map(({ name, kind, value }) => [name, transferValue(name, kind, value)] as const),
      ),
  ];
}

function transferValue(name: string, kind: string, value: string): ComponentChildren {
  switch (kind) {
    case 'amount':
      return tokenAmount(BigInt(value));
    case 'number':
      return grouped(value);
    case 'bytes':
      return bytesValue(value, name);
    default:
      return id(value, name);
  }
}

function ownerValue({ threshold, addresses }: { threshold: number; addresses: readonly string[] }): ComponentChildren {
  if (addresses.length === 0) return 'nobody';
  return `${threshold} of ${addresses.map((address) => `0x${address}`).join(', ')}`;
}

function group(title: string, rows: Rows): ComponentChild {
  return (
    <div class="facts-group">
      <h3>{title}</h3>
      <Facts rows={rows} />
    </div>
  );
}

function id(value: string, what: string): ComponentChild {
  return <Id value={value} what={what} />;
}

function hexValue(hex: string, what: string): ComponentChild {
  return id(`0x${hex}`, what);
}

/** As text, too, where it is one. */
function bytesValue(hex: string, what: string): ComponentChildren {
  if (hex === '') return 'none';
  const text = textOfHex(hex);
  return [text !== undefined && <q class="as-text">{text}</q>, hexValue(hex, what)];
}
