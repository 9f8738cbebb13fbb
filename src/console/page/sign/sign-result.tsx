import type { ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import type { SignedMessage } from '../../../client/gen/api.ts';
import { accessListOf } from '../../../pchain/codec/access-list.ts';
import { WARP_PRECOMPILE } from '../../../pchain/codec/send-warp-log.ts';
import { NextStep } from '../inspect/next-step.tsx';
import { useSession } from '../session.ts';
import { Card, CodeBlock, CopyButton, DownloadButton, Facts, Tabs, TextField } from '../ui/controls.tsx';
import { grouped, percentOf, shortened } from '../ui/figures.ts';
import { isNarrow } from '../ui/table.tsx';
import { epochRow, Warnings } from './delivery-facts.tsx';
import { showTop } from './sign-failure.tsx';
import { teleporterDestination } from './sign-request.ts';
import { type CallPlace, curlOf, deliverCalldata, readCalldata, type SignRequest, sdkOf } from './snippets.ts';

interface SignResultProps {
  readonly result: SignedMessage;
  readonly request: SignRequest;
  readonly reading: DecodedReading | undefined;
}

/** The signed message in every form in which it is needed next. */
export function SignResult({ result, request, reading }: SignResultProps): ComponentChild {
  const session = useSession();
  const hex = `0x${result.signedMessage}`;
  const place = { origin: session.api.origin, network: session.network, hasKey: session.api.key !== '' };
  const name = `signed-${result.signedMessage.slice(-12)}.hex`;
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A wide screen shows the map that led to it.
    if (isNarrow()) showTop(top.current);
  }, [result]);
  return (
    <div ref={top} class="scroll-place">
      <Card
        title="Signed message"
        aside={
          <div class="card-aside">
            <CopyButton text={hex} what="signed message" />
            <DownloadButton text={hex} name={name} label="Download" />
            <button type="button" class="button small" onClick={() => session.open('inspect', hex)}>
              Inspect
            </button>
          </div>
        }
      >
        <p class="hint">
          {`${percentOf(BigInt(result.signedWeight), BigInt(result.totalWeight))} of the weight, ${result.signers.length} validators, `}
          {`P-Chain height ${grouped(result.pChainHeight)}, ${grouped(result.signedMessage.length / 2)} bytes. The service has verified the signature and the quorum.`}
        </p>
        <Warnings warnings={result.warnings} />
        {result.epoch !== undefined && <Facts rows={[epochRow(result.epoch)]} />}
        <NextStep reading={reading} />
        <Tabs
          label="Forms of the result"
          tabs={[
            { name: 'Signed message', content: () => <CodeBlock text={hex} what="Signed message" /> },
            {
              name: 'For an EVM chain',
              content: () => (
                <EvmForms
                  signedMessage={result.signedMessage}
                  isTeleporter={teleporterDestination(reading) !== undefined}
                />
              ),
            },
            { name: 'For the P-Chain', content: () => <PChainForm hex={hex} /> },
            {
              name: 'curl',
              content: () => <CodeBlock text={curlOf(request, place)} what="The same call with curl" />,
            },
            {
              name: 'SDK',
              content: () => <SdkForm request={request} place={place} />,
            },
            { name: `Signers (${result.signers.length})`, content: () => <Signers result={result} /> },
          ]}
        />
      </Card>
    </div>
  );
}

function EvmForms({ signedMessage, isTeleporter }: { signedMessage: string; isTeleporter: boolean }): ComponentChild {
  const [reward, setReward] = useState('');
  const accessList = JSON.stringify(accessListOf(signedMessage), null, 2);
  const isAddress = /^(0x)?[0-9a-fA-F]{40}$/.test(reward.trim());
  return [
    <p class="hint">
      {'The chain reads the message from the access list of the transaction, under the Warp precompile '}
      <code>{WARP_PRECOMPILE}</code>. It verifies it before the transaction runs.
    </p>,
    <h3>Access list</h3>,
    <CodeBlock text={accessList} what="Access list with the predicate bytes" download="access-list.json" />,
    <h3>{isTeleporter ? 'Calldata for Teleporter' : 'Calldata'}</h3>,
    isTeleporter
      ? [
          <p class="hint">
            receiveCrossChainMessage(0, reward address), sent to the Teleporter messenger of the destination chain.
          </p>,
          <TextField
            label="Reward address of the relayer"
            placeholder="0x…, 20 bytes"
            value={reward}
            onValue={setReward}
          />,
          isAddress && <CodeBlock text={deliverCalldata(reward.trim())} what="Calldata of receiveCrossChainMessage" />,
        ]
      : [
          <p class="hint">
            getVerifiedWarpMessage(0), which a contract calls at the precompile to read the first message of the access
            list.
          </p>,
          <CodeBlock text={readCalldata()} what="Calldata of getVerifiedWarpMessage" />,
        ],
  ];
}

function PChainForm({ hex }: { hex: string }): ComponentChild {
  return [
    <p class="hint">
      The P-Chain takes the signed message as it is: as the message of RegisterL1ValidatorTx or SetL1ValidatorWeightTx.
    </p>,
    <CodeBlock text={hex} what="Message of the P-Chain transaction" />,
  ];
}

function SdkForm({ request, place }: { request: SignRequest; place: CallPlace }): ComponentChild {
  const { sdkNetwork } = useSession();
  if (sdkNetwork === undefined) {
    return (
      <p class="hint">
        The SDK knows the networks mainnet and fuji. Give this one such an alias in the configuration to use it.
      </p>
    );
  }
  if (request.kind === 'transaction' && Object.keys(request.query).length > 0) {
    return <p class="hint">The SDK requests a transaction by its ID alone, without chain and signers: use curl.</p>;
  }
  return <CodeBlock text={sdkOf(request, { ...place, network: sdkNetwork })} what="The same call with the SDK" />;
}

function Signers({ result }: { result: SignedMessage }): ComponentChild {
  return (
    <ol class="signers">
      {result.signers.map((nodeId) => (
        <li key={nodeId}>
          <code title={nodeId}>{shortened(nodeId, 14, 8)}</code>
          <CopyButton text={nodeId} what={nodeId} />
        </li>
      ))}
    </ol>
  );
}
