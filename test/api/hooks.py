"""Checks of our own, beside those of schemathesis: what it is told to allow is allowed here for a stated reason only."""

import hashlib
import json
import os
import re

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.transport import Response

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def cb58(content: bytes) -> str:
    """Base58 of bytes and the last four of their SHA-256."""
    number = int.from_bytes(data := content + hashlib.sha256(content).digest()[-4:])
    text = ""
    while number > 0:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


# With the right checksum, which a pattern cannot give, so that most requests reach what is behind the checks.
IDS = st.binary(min_size=32, max_size=32).map(cb58)
NODE_IDS = st.binary(min_size=20, max_size=20).map(lambda content: f"NodeID-{cb58(content)}")
schemathesis.openapi.format("primary-network-id", IDS)
schemathesis.openapi.format("evm-chain-id", IDS | st.integers(1, 2**64 - 1).map(str))
schemathesis.openapi.format("node-id", NODE_IDS)
schemathesis.openapi.format("node-id-list", st.lists(NODE_IDS, min_size=1, max_size=3).map(",".join))
schemathesis.openapi.format("rpc-chain", IDS | st.sampled_from(["X", "P"]))

# Transactions of the embedded network that have a message.
TRANSACTIONS = json.loads(os.environ["TEST_API_TRANSACTIONS"])


@schemathesis.hook
def map_path_parameters(ctx, path_parameters):
    """Every second transaction is one that there is: nobody guesses an ID."""
    name = "txHash"
    if path_parameters and ctx.operation.path.startswith("/v1/signatureAggregator/") and name in path_parameters:
        number = sum(str(path_parameters[name]).encode("utf-8", "replace"))
        if number % 2 == 0:
            path_parameters[name] = TRANSACTIONS[number // 2 % len(TRANSACTIONS)]
    return path_parameters


# Why a request that fits the document may still be answered with 400: by the text of the answer. JSON Schema cannot say these.
EXPLAINED_REFUSALS = {
    # The last bytes of an ID or an address follow from the others.
    "checksum": r"(has|is not cb58|is not) .*checksum|is not cb58|has a wrong (cb58 )?checksum",
    # Rules between two parameters; the description of each operation names them.
    "rule between parameters": r"must be below endBlock|must not be above|is a filter of the P-Chain only|is a filter that needs "
    r"addresses|delegationFee works on mainnet only|must be addresses of |quorum(Percentage|-percentage).*(at most|more than) 100|"
    r"both (a )?|cannot both|either message or justification|not both|only one of|and must not differ|"
    r"is not for messages of a validator manager|register and setWeight are two messages",
    # A text of 78 digits may have more than 256 bits.
    "256 bits": r"must be a number of up to 256 bits",
    # What IDs, messages, justifications and indices of logs are in hex, cb58 or decimal: described in words, as the service's own words say more than
    # that a text fails to match a pattern.
    "form of an ID, a message or a justification": r"^(message|signedMessage|justification|data|signingSubnetId|subnetId|blockchainId|"
    r"validationId|destinationBlockchainId|txHash|logIndex|messageId|transaction|client|nodeId|blsPublicKey) ",
    # The content of a message, or what the P-Chain has to it.
    "content of a message": r"^(message|signedMessage|justification|data|signingSubnetId|subnetId|blockchainId|validationId|"
    r"destinationBlockchainId|txHash|pChainHeight|p-?chain-height): ",
    # Of a well-formed message, what the validators say of it.
    "refusal of the validators": r"^(failed to collect a threshold of signatures: )?failed to collect a threshold of stake: .*no later block changes this, so do not try again$",
    # Validators without a key or balance, which no answer of others makes up for.
    "quorum out of reach": r"^failed to collect a threshold of stake: .*it stays out of reach until the validators change$",
    # The devnet's P-Chain verifies the message of a transaction, and executes it.
    "words of the P-Chain": r"^couldn't issue tx: ",
    # A token is what an earlier answer gave.
    "token of a page": r"^pageToken is not a token of this service",
    # The Go aggregator's words for the same, before ours.
    "form of an ID, a message or a justification, in the Go aggregator's words": r"^(Could not decode (message|justification)|"
    r"Error unpacking warp message|Error parsing signing subnet ID|failed to aggregate signatures): ",
    # An upstream may read the target otherwise than this service: the form is stricter than that of a URL.
    "form of the target": r"^the (path|query) of the URL ",
    # Calls of the node: their parameters are the node's, and a batch has a length.
    "JSON-RPC": r"^(method|params|id|jsonrpc|a batch|the batch|body) ",
}
EXPLAINED = re.compile("|".join(f"({pattern})" for pattern in EXPLAINED_REFUSALS.values()))


def body_of(response: Response) -> dict:
    body = response.json()
    return body if isinstance(body, dict) else {}


def message_of(body: dict) -> str:
    error = body.get("error")
    if isinstance(error, dict):
        return error.get("message", "")
    message = body.get("message")
    # The metrics service's errors have a list.
    if isinstance(message, list):
        return " ".join(message)
    # The Go aggregator's form has nothing else.
    return str(message or error or "")


def without_go_words(message):
    """The Go aggregator's words come before ours in its API."""
    for words in ("failed to aggregate signatures: ", "failed to collect a threshold of signatures: "):
        message = message.removeprefix(words)
    return message


@schemathesis.check
def explained_refusal(ctx, response, case):
    """A request that fits the document is refused for one of the reasons above only."""
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    message = without_go_words(message_of(body_of(response)))
    # Numbers in a URL are written in digits alone, so that every server reads them alike.
    if re.search(r" must be an? (integer|number) ", message) and re.search(r"=[\d.]+e[-+%\d]", response.request.url):
        return
    # As in Go, a height has no fraction and no exponent, which JSON Schema cannot say of an integer.
    if message.endswith("without fraction and exponent"):
        return
    assert EXPLAINED.search(message), f"a request that fits the document was refused, for no explained reason: {message}"


GONE = re.compile(r"the quorum needs (\d+) of \1, .* \(unreachable: no address known\)")


# Routes whose bodies may have null for an optional field.
NULL_COUNTS_AS_LEFT_OUT = (
    "/v1/signatureAggregator/{network}/aggregateSignatures",
    "/v1/signatureAggregator/{network}/decode",
    "/devnet/messages",
)


@schemathesis.check
def explained_acceptance(ctx, response, case):
    """A request that does not fit the document is accepted on these routes only if a field of its body is null."""
    if response.status_code >= 300 or case.meta is None or case.meta.generation.mode.is_positive:
        return
    if case.operation.path not in NULL_COUNTS_AS_LEFT_OUT:
        return
    body = case.body
    has_null = isinstance(body, dict) and any(value is None for value in body.values())
    assert has_null, "a request that does not fit the document was accepted, and no field of its body is null"


@schemathesis.check
def explained_server_error(ctx, response, case):
    """Nothing fails for a reason of the service's own: a 500 only says that too little weight has signed."""
    if response.status_code < 500:
        return
    body = body_of(response)
    message = without_go_words(message_of(body))
    # Of a past set, a validator may be gone, and a quorum of 100 % needs all of them.
    if body.get("code") == "not_connected" and GONE.search(message) and case.body.get("quorumPercentage") == 100:
        return
    assert response.status_code == 500 and message.startswith("failed to collect a threshold of stake"), f"failed: {message}"
    # The Go aggregator's form has nothing else.
    if "code" in body:
        details = body["details"]
        outcomes = details["outcomes"].values()
        assert body["code"] == "insufficient_weight", f"a 500 with the code {body['code']}"
        assert int(details["weightSigned"]) < int(details["weightNeeded"]), "enough weight has signed"
        assert sum(int(outcome["weight"]) for outcome in outcomes) == int(details["totalWeight"]), "weights are missing"


@schemathesis.check
def error_form(ctx, response, case):
    """Every answer has an ID and no type but its own; every error has the one form, and says nothing of the inside."""
    assert response.headers.get("x-request-id"), "the answer has no x-request-id"
    assert response.headers.get("x-content-type-options") == ["nosniff"], "the answer has no nosniff"
    if response.status_code < 400 or response.request.method == "HEAD" or case.path.startswith("/health/"):
        return
    body = response.json()
    # A mistake in a JSON-RPC call is answered in JSON-RPC.
    if case.path.startswith("/ext/bc/") and (isinstance(body, list) or "jsonrpc" in body):
        return
    # Any other method has no route there, and is answered as all that have none.
    if case.path.endswith("/aggregate-signatures") and response.request.method == "POST":
        assert list(body) == ["error"], f"the error has the fields {list(body)}, which the Go aggregator's has not"
        return
    expected = ["message", "statusCode", "error", "code"]
    assert [key for key in body if key != "details"] == expected, f"the error has the fields {list(body)}"
    assert body["statusCode"] == response.status_code, "the error names another status"
    assert "node_modules" not in response.text and '"stack"' not in response.text, "the error tells of the inside"


@schemathesis.check
def unlisted_method(ctx, response, case):
    """A path that exists for another method only is a 404, as the document says: there is no 405."""
    # The Go aggregator takes every method, and so does its API here.
    if case.path.endswith("/aggregate-signatures"):
        return
    scenario = getattr(getattr(case.meta and case.meta.phase.data, "scenario", None), "name", None)
    if scenario != "UNSPECIFIED_HTTP_METHOD" or response.request.method in ("HEAD", "OPTIONS"):
        return
    assert response.status_code in (400, 404), f"an unlisted method was answered with {response.status_code}"
