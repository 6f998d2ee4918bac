// SPDX-License-Identifier: Apache-2.0
/** The methods of the node programs, by full name: Identity of CSI, and kubelet's plugin registration. */
import identityDescriptor from '../gen/identity.json' with { type: 'json' };
import registrationDescriptor from '../gen/plugin-registration.json' with { type: 'json' };
import { type Descriptor, type Scope, lookUp } from '../sanitizer/descriptor.ts';
import { type MessageCodec, codecFor } from './wire.ts';

export interface MethodCodec {
  readonly request: MessageCodec;
  readonly response: MessageCodec;
}

export const leanDescriptor: Descriptor = {
  nested: { ...identityDescriptor.nested, ...registrationDescriptor.nested },
};

const codecs = new Map<string, MethodCodec>();

/** Undefined for a method that is not declared. */
export function leanCodecOf(method: string): MethodCodec | undefined {
  const known = codecs.get(method);
  if (known !== undefined) return known;
  const [, service = '', name = ''] = method.split('/');
  const scope = lookUp([leanDescriptor], `.${service}`);
  const declared = scope?.[0]?.methods?.[name];
  if (scope === undefined || declared === undefined) return undefined;
  const codec: MethodCodec = {
    request: codecFor(messageScope(scope, declared.requestType)),
    response: codecFor(messageScope(scope, declared.responseType)),
  };
  codecs.set(method, codec);
  return codec;
}

function messageScope(scope: Scope, type: string): Scope {
  const found = lookUp(scope, type);
  if (found === undefined) throw new Error(`no such message: ${type}`);
  return found;
}
