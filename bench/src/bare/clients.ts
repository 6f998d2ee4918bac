// SPDX-License-Identifier: Apache-2.0
/** What a program without any care needs: requests and watches over one HTTP/2 connection, calls over one gRPC channel. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { createInterface } from 'node:readline';
import { Client, credentials } from '@grpc/grpc-js';
import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import PQueue from 'p-queue';

export interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
}
export interface Item {
  readonly metadata: Meta;
}
type Body = Readonly<Record<string, unknown>>;

export interface Api {
  /** Patches are strategic merge patches, but of custom resources, which take none. */
  request<T>(method: string, path: string, body?: Body): Promise<T>;
  /** Calls back for each object of the list, then for each change. */
  watch<T extends Item>(path: string, onChange: (object: T, isGone: boolean) => void): Promise<void>;
}
/** The answer to a call of CSI, by the name of service and method: "Controller/CreateVolume". */
export type Call = <T>(method: string, request: Body) => Promise<T>;

interface Kubeconfig {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; readonly 'certificate-authority': string } },
  ];
  readonly users: readonly [{ readonly user: { readonly tokenFile: string } }];
}

export class Refused extends Error {
  readonly code: number;
  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

export function openApi(kubeconfig: string): Api {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority': ca } = clusters[0].cluster;
  const session = connect(server, { ca: readFileSync(ca) });
  const authorization = `Bearer ${readFileSync(users[0].user.tokenFile, 'utf8').trim()}`;
  const open = (method: string, path: string, type?: string): ReturnType<typeof session.request> =>
    session.request({
      ':method': method,
      ':path': path,
      accept: 'application/json',
      authorization,
      ...(type && { 'content-type': type }),
    });
  const send = <T>(method: string, path: string, body?: Body): Promise<T> => {
    const patch = path.startsWith('/apis/snapshot.') ? 'merge' : 'strategic-merge';
    const type = method === 'PATCH' ? `application/${patch}-patch+json` : 'application/json';
    const stream = open(method, path, body && type);
    stream.end(body && JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      let code = 0;
      stream.on('response', (headers) => (code = headers[':status'] ?? 0));
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('error', reject);
      stream.on('end', () => {
        const text = Buffer.concat(parts).toString();
        if (code < 300) resolve(JSON.parse(text) as T);
        else reject(new Refused(code, text));
      });
    });
  };
  // The API server allows a hundred streams, those of watches included, and Node.js does not wait for a free one.
  const queue = new PQueue({ concurrency: 90 });
  const request: Api['request'] = (...args) => queue.add(() => send(...args));
  return {
    request,
    watch: async (path, onChange) => {
      const list = await request<{ metadata: Meta; items: Parameters<typeof onChange>[0][] }>('GET', path);
      for (const item of list.items) onChange(item, false);
      // The API server ends a watch that it cannot send to for a moment.
      const watchFrom = (first: string): void => {
        let last = first;
        const lines = createInterface({ input: open('GET', `${path}?watch=1&resourceVersion=${first}`) });
        lines.on('line', (line) => {
          const { type, object } = JSON.parse(line) as { type: string; object: (typeof list.items)[number] };
          last = object.metadata.resourceVersion;
          onChange(object, type === 'DELETED');
        });
        lines.on('close', () => watchFrom(last));
      };
      watchFrom(list.metadata.resourceVersion);
    },
  };
}

export function openDriver(address: string, protoFile: string): Call {
  const services = loadSync(protoFile, { keepCase: true, longs: String, defaults: true });
  const client = new Client(address, credentials.createInsecure());
  return (name, request) => {
    const [service = '', method = ''] = name.split('/');
    const { path, requestSerialize, responseDeserialize } = (services[`csi.v1.${service}`] as ServiceDefinition)[
      method
    ] as MethodDefinition<object, object>;
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, answer) => {
        if (error) reject(error);
        else resolve(answer as never);
      });
    });
  };
}
