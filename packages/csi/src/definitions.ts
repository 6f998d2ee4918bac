// SPDX-License-Identifier: Apache-2.0
/**
 * The descriptors as what grpc-js works with. They are part of the program: no .proto file is read at run time. Building
 * them costs some milliseconds, so it happens at the first use and once.
 */
import type { ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import type { MethodDefinition, Options, PackageDefinition } from '@grpc/proto-loader';
import csiDescriptor from './gen/csi.json' with { type: 'json' };
import registrationDescriptor from './gen/plugin-registration.json' with { type: 'json' };

/** Field names as declared, exact integers, named enums, presence of messages visible. */
const conventions: Options = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };

type Codec = MethodDefinition<object, object>;

function lazily(descriptor: object): () => PackageDefinition {
  let loaded: PackageDefinition | undefined;
  return () => {
    loaded ??= fromJSON(descriptor, conventions);
    return loaded;
  };
}

const csi = lazily(csiDescriptor);
const registration = lazily(registrationDescriptor);

export type CsiService = 'Identity' | 'Controller' | 'GroupController' | 'SnapshotMetadata' | 'Node';

/** What `Server.addService` of grpc-js takes. */
export function csiService(name: CsiService): ServiceDefinition {
  return serviceOf(csi(), `csi.v1.${name}`);
}

/** The service with which a plugin introduces itself to kubelet. */
export function registrationService(): ServiceDefinition {
  return serviceOf(registration(), 'pluginregistration.Registration');
}

/** Encoders and decoders of a method by its full name. */
export function codecOf(method: string): Codec {
  const [, service = '', name = ''] = method.split('/');
  const found = serviceOf(service.startsWith('csi.') ? csi() : registration(), service)[name];
  if (found === undefined) throw new Error(`no such method: ${method}`);
  return found as Codec;
}

function serviceOf(definition: PackageDefinition, name: string): ServiceDefinition {
  const service = definition[name];
  if (service === undefined) throw new Error(`no such service: ${name}`);
  // The package definition mixes services with messages and enums; a service is a record of methods.
  return service as ServiceDefinition;
}
