// SPDX-License-Identifier: Apache-2.0
/** Codecs of methods by full name. Each is made when its method is first used: most programs call a few of the many. */
import { type Descriptor, type Scope, lookUp, ownMember } from './descriptor.ts';
import { type MessageCodec, messageCodecs } from './message-codec.ts';

export interface MethodCodec {
  readonly request: MessageCodec;
  readonly response: MessageCodec;
}

/** Undefined for a method that is not declared. */
export type MethodCodecs = (method: string) => MethodCodec | undefined;

export function methodCodecs(descriptor: Descriptor): MethodCodecs {
  const codecs = new Map<string, MethodCodec>();
  const codecFor = messageCodecs();
  return (method) => {
    const known = codecs.get(method);
    if (known !== undefined) return known;
    const [, service = '', name = ''] = method.split('/');
    const scope = lookUp([descriptor], `.${service}`);
    const declared = ownMember(scope?.[0]?.methods, name);
    if (scope === undefined || declared === undefined) return undefined;
    const codec: MethodCodec = {
      request: codecFor(messageScope(scope, declared.requestType)),
      response: codecFor(messageScope(scope, declared.responseType)),
    };
    codecs.set(method, codec);
    return codec;
  };
}

function messageScope(scope: Scope, type: string): Scope {
  const found = lookUp(scope, type);
  if (found === undefined) throw new Error(`no such message: ${type}`);
  return found;
}
