// SPDX-License-Identifier: Apache-2.0
/**
 * The descriptors as what grpc-js serves, with the protobuf library's encoders and decoders: for the test driver, and for tests,
 * which compare our own codecs (wire/) with these. No program has it. A message's encoder and decoder are made when its
 * method is first called.
 */
import type { ServiceDefinition } from '@grpc/grpc-js';
import protobuf from 'protobufjs/light.js';
import type { IConversionOptions, INamespace, Method, Root, Service, Type } from 'protobufjs';
import csiDescriptor from './gen/csi.json' with { type: 'json' };
import registrationDescriptor from './gen/plugin-registration.json' with { type: 'json' };

/** Exact integers, named enums, presence of messages visible. Field names are as declared: so they are in the descriptors. */
const conventions: IConversionOptions = { longs: String, enums: String, defaults: true, oneofs: true };

interface Codec {
  readonly requestSerialize: (message: object) => Buffer;
  readonly requestDeserialize: (bytes: Uint8Array) => object;
  readonly responseSerialize: (message: object) => Buffer;
  readonly responseDeserialize: (bytes: Uint8Array) => object;
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const csi = lazily(() => protobuf.Root.fromJSON(csiDescriptor as INamespace));
const registration = lazily(() => protobuf.Root.fromJSON(registrationDescriptor as INamespace));

export type CsiService = 'Identity' | 'Controller' | 'GroupController' | 'SnapshotMetadata' | 'Node';

/** What `Server.addService` of grpc-js takes. */
export function csiService(name: CsiService): ServiceDefinition {
  return serviceDefinition(csi(), `csi.v1.${name}`);
}

/** The service with which a plugin introduces itself to kubelet. */
export function registrationService(): ServiceDefinition {
  return serviceDefinition(registration(), 'pluginregistration.Registration');
}

const codecs = new Map<string, Codec>();

/** Encoders and decoders of a method by its full name. */
export function codecOf(method: string): Codec {
  let codec = codecs.get(method);
  if (codec === undefined) {
    const [, service = '', name = ''] = method.split('/');
    codec = toCodec(methodOf(service.startsWith('csi.') ? csi() : registration(), service, name));
    codecs.set(method, codec);
  }
  return codec;
}

function toCodec({ request, response }: ResolvedMethod): Codec {
  return {
    requestSerialize: encoder(request),
    requestDeserialize: decoder(request),
    responseSerialize: encoder(response),
    responseDeserialize: decoder(response),
  };
}

function encoder(type: Type): (message: object) => Buffer {
  // Its writer allocates from Node.js' pool, though its types name the bytes more generally.
  return (message) => type.encode(type.fromObject(message)).finish() as Buffer;
}

function decoder(type: Type): (bytes: Uint8Array) => object {
  return (bytes) => type.toObject(type.decode(bytes), conventions);
}

interface ResolvedMethod {
  readonly method: Method;
  readonly request: Type;
  readonly response: Type;
}

function methodOf(root: Root, service: string, name: string): ResolvedMethod {
  const method = serviceOf(root, service).methods[name];
  if (method === undefined) throw new Error(`no such method: /${service}/${name}`);
  method.resolve();
  const { resolvedRequestType: request, resolvedResponseType: response } = method;
  if (request === null || response === null) throw new Error(`a method without types: /${service}/${name}`);
  return { method, request, response };
}

function serviceDefinition(root: Root, service: string): ServiceDefinition {
  const methods = Object.keys(serviceOf(root, service).methods).map((name) => {
    const resolved = methodOf(root, service, name);
    const { requestStream = false, responseStream = false } = resolved.method;
    return [name, { path: `/${service}/${name}`, requestStream, responseStream, ...toCodec(resolved) }] as const;
  });
  return Object.fromEntries(methods);
}

function serviceOf(root: Root, name: string): Service {
  const found = root.lookup(name);
  if (!(found instanceof protobuf.Service)) throw new Error(`no such service: ${name}`);
  return found;
}
