// SPDX-License-Identifier: Apache-2.0
/** Messages of every type of CSI with changed bytes, and how our codec reads them, for comparison with an implementation in another language. */
import { methodCodecs } from '@csi-sidecars/grpc';
import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import csiDescriptor from '../src/gen/csi.json' with { type: 'json' };
import { anyMessage, methodsOf } from './any-message.ts';
import { descriptorSetOf } from './protobuf-es.ts';

export interface MutatedMessages {
  /** A FileDescriptorSet. */
  readonly descriptors: Uint8Array;
  readonly messages: readonly MutatedMessage[];
}

export interface MutatedMessage {
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Undefined when our codec refuses it. */
  readonly decoded: object | undefined;
  /** The bytes that our codec writes for the message it has read. */
  readonly encoded: Uint8Array | undefined;
}

/** @param count about how many; the same seed gives the same messages */
export function mutatedMessages({ seed, count }: { readonly seed: number; readonly count: number }): MutatedMessages {
  const root = protobuf.Root.fromJSON(csiDescriptor as protobuf.INamespace);
  root.resolveAll();
  const codecOf = methodCodecs(csiDescriptor);
  const methods = methodsOf(root);
  const messages = methods.flatMap(({ path, method }) => {
    const codec = codecOf(path)!;
    const sides = [
      { type: method.resolvedRequestType!, side: codec.request },
      { type: method.resolvedResponseType!, side: codec.response },
    ];
    return sides.flatMap(({ type, side }) =>
      fc
        .sample(mutated(type), { seed, numRuns: Math.ceil(count / methods.length / 2) })
        .map((bytes): MutatedMessage => {
          const decoded = attempt(() => side.decode(bytes));
          const encoded = decoded && side.encode(decoded);
          return { type: type.fullName.slice(1), bytes, decoded, encoded };
        }),
    );
  });
  return { descriptors: descriptorSetOf(root), messages };
}

/** A message with up to three changed bytes, possibly cut off. Messages are short, so that a change often matters. */
function mutated(type: protobuf.Type): fc.Arbitrary<Uint8Array> {
  const encoded = anyMessage(type)
    .map((message) => type.encode(type.fromObject(message)).finish())
    .filter(({ length }) => length < 2_000);
  const change = fc.tuple(fc.nat(), fc.nat(255));
  return fc
    .tuple(encoded, fc.array(change, { maxLength: 3 }), fc.option(fc.nat(), { freq: 4 }))
    .map(([whole, changes, cut]) => {
      const bytes = Buffer.from(whole);
      for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
      return cut === null ? bytes : bytes.subarray(0, cut % (bytes.length + 1));
    });
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
