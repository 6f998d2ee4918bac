// SPDX-License-Identifier: Apache-2.0
/**
 * The descriptors in the form that grpc-js serves, loaded by its own loader: for the test driver, and for tests, which compare our own codec
 * with it. No program contains it.
 */
import type { ServiceDefinition } from '@grpc/grpc-js';
import { type MethodDefinition, type PackageDefinition, fromJSON } from '@grpc/proto-loader';
import csiDescriptor from '../src/gen/csi.json' with { type: 'json' };
import registrationDescriptor from '../src/gen/plugin-registration.json' with { type: 'json' };

/** Exact integers, named enums, presence of messages visible. Field names are those of the declaration, as in the descriptors. */
const conventions = { longs: String, enums: String, defaults: true, oneofs: true } as const;

type Codec = Pick<
  MethodDefinition<object, object>,
  'requestSerialize' | 'requestDeserialize' | 'responseSerialize' | 'responseDeserialize'
>;

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const loaded = lazily((): PackageDefinition => ({
  ...fromJSON(csiDescriptor as object, conventions),
  ...fromJSON(registrationDescriptor as object, conventions),
}));

export type CsiService = 'Identity' | 'Controller' | 'GroupController' | 'SnapshotMetadata' | 'Node';

/** The argument of `Server.addService` of grpc-js. */
export function csiService(name: CsiService): ServiceDefinition {
  return serviceOf(`csi.v1.${name}`);
}

/** The service with which a plugin introduces itself to kubelet. */
export function registrationService(): ServiceDefinition {
  return serviceOf('pluginregistration.Registration');
}

const codecs = lazily(() => {
  const services = Object.keys(loaded()).flatMap((name) => (isService(name) ? [serviceOf(name)] : []));
  return new Map<string, Codec>(services.flatMap(Object.values).map((method) => [method.path, method]));
});

/** Encoders and decoders of a method by its full name. */
export function codecOf(method: string): Codec {
  const codec = codecs().get(method);
  if (codec === undefined) throw new Error(`no such method: ${method}`);
  return codec;
}

function serviceOf(name: string): ServiceDefinition {
  if (!isService(name)) throw new Error(`no such service: ${name}`);
  return loaded()[name] as ServiceDefinition;
}

/** Messages and enums have a format and file descriptors; services have their methods and nothing more. */
function isService(name: string): boolean {
  const definition = loaded()[name];
  return definition !== undefined && !('format' in definition);
}
