// SPDX-License-Identifier: Apache-2.0
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createTestAuthority, memoryFiles, recordingLogger } from '../../../testing/index.ts';
import { authorityOf } from '../connection/endpoint.ts';
import { FileError } from './files.ts';
import { readKubeconfig } from './kubeconfig-format.ts';
import { type ClusterFlags, loadClusterConfig } from './load-cluster-config.ts';

const ca = createTestAuthority().ca;
const folder = '/var/run/secrets/kubernetes.io/serviceaccount';
const pod = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };

const load = async (files: Record<string, string>, flags: ClusterFlags, env: Record<string, string> = {}) => {
  const logger = recordingLogger();
  const memory = memoryFiles(files);
  const outcome = await loadClusterConfig({ files: memory, env, logger }, flags).then(
    (config) => ({ config, error: undefined }),
    (error: unknown) => ({ config: undefined, error: String(error) }),
  );
  return { ...outcome, logger };
};

describe('in-cluster', () => {
  const files = { [`${folder}/token`]: 'secret', [`${folder}/ca.crt`]: ca };

  it('given a pod, then server, authority and token file are those of its service account', async () => {
    const { config, logger } = await load(files, {}, pod);
    expect(config).toEqual({
      endpoint: { scheme: 'https', host: '10.96.0.1', port: 443, basePath: '' },
      tls: { authorities: { kind: 'file', path: `${folder}/ca.crt` }, verify: 'server' },
      user: { kind: 'tokenFile', path: `${folder}/token` },
    });
    expect(logger.lines).toEqual([]);
  });

  it('[runtime#15] given an IPv6 address and a port, then requests name the address in brackets, with the port', async () => {
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
    const { config } = await load(files, {}, env);
    expect(config?.endpoint).toEqual({ scheme: 'https', host: 'fd00::1', port: 6443, basePath: '' });
    expect(authorityOf(config?.endpoint ?? expect.unreachable())).toBe('[fd00::1]:6443');
  });

  it.each<Record<string, string>>([
    { KUBERNETES_SERVICE_HOST: '10.96.0.1' },
    { KUBERNETES_SERVICE_PORT: '443' },
    { ...pod, KUBERNETES_SERVICE_HOST: '' },
  ])('[runtime#16] given only one of the two variables, then the error is that of client-go', async (env) => {
    const { error } = await load(files, {}, env);
    expect(error).toBe(
      'Error: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    );
  });

  it('[runtime#20] given no token file at the start, then there is no configuration', async () => {
    const { error } = await load({ [`${folder}/ca.crt`]: ca }, {}, pod);
    expect(error).toBe(`FileError: open ${folder}/token: no such file or directory`);
  });

  it.each([
    ['no authority', {}, new FileError(`${folder}/ca.crt`, 'ENOENT')],
    [
      'an authority that is garbage',
      { [`${folder}/ca.crt`]: 'garbage' },
      new Error(
        `error creating pool from ${folder}/ca.crt: data does not contain any valid RSA or ECDSA certificates`,
        { cause: new Error('data does not contain any valid RSA or ECDSA certificates') },
      ),
    ],
  ])('given %s, then that is logged and the authorities of the system are used', async (_what, extra, error) => {
    const { config, logger } = await load({ [`${folder}/token`]: 'secret', ...extra }, {}, pod);
    expect(config!.tls.authorities).toBeUndefined();
    const message = `Expected to load root CA config from ${folder}/ca.crt, but got err: ${error.message}`;
    expect(logger.lines).toEqual([{ kind: 'error', message, facts: {}, error }]);
  });
});

describe('kubeconfig', () => {
  const kubeconfig = (parts: { cluster?: string; user?: string; context?: string } = {}): string => `
apiVersion: v1
kind: Config
current-context: ${parts.context ?? 'here'}
contexts: [{ name: here, context: { cluster: c, user: u } }]
clusters: [{ name: c, cluster: ${parts.cluster ?? '{ server: "https://api:6443/base/" }'} }]
users: [{ name: u, user: ${parts.user ?? '{}'} }]
`;
  const loadFile = (parts: Parameters<typeof kubeconfig>[0], files: Record<string, string> = {}, master = '') =>
    load({ '/etc/kube/config': kubeconfig(parts), ...files }, { kubeconfig: '/etc/kube/config', master });

  it('given a context with a namespace, then the configuration names it', async () => {
    const file = kubeconfig().replace('user: u }', 'user: u, namespace: team }');
    const { config } = await load({ '/etc/kube/config': file }, { kubeconfig: '/etc/kube/config' });
    expect(config!.namespace).toBe('team');
  });

  it('given the current context, then its server is used, without credentials', async () => {
    const { config } = await loadFile({});
    expect(config).toEqual({
      endpoint: { scheme: 'https', host: 'api', port: 6443, basePath: '/base' },
      namespace: '',
      tls: { verify: 'server' },
      user: { kind: 'anonymous' },
    });
  });

  it('given paths, then they are relative to the file', async () => {
    const { config } = await loadFile(
      {
        cluster:
          '{ server: "https://api", certificate-authority: pki/ca.crt, tls-server-name: kubernetes, proxy-url: "http://proxy:3128" }',
        user: '{ client-certificate: ../c.crt, client-key: /abs/c.key, tokenFile: token }',
      },
      { '/etc/kube/pki/ca.crt': ca, '/etc/c.crt': 'c', '/abs/c.key': 'k', '/etc/kube/token': 't' },
    );
    expect(config).toEqual({
      endpoint: { scheme: 'https', host: 'api', port: 443, basePath: '' },
      namespace: '',
      tls: {
        authorities: { kind: 'file', path: '/etc/kube/pki/ca.crt' },
        identity: {
          certificate: { kind: 'file', path: '/etc/c.crt' },
          key: { kind: 'file', path: '/abs/c.key' },
        },
        serverName: 'kubernetes',
        verify: 'server',
      },
      proxy: new URL('http://proxy:3128'),
      user: { kind: 'tokenFile', path: '/etc/kube/token' },
    });
  });

  it('given inline certificates and a token, then they are used and no dump shows them', async () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const { config } = await loadFile({
      cluster: `{ server: "https://api", certificate-authority-data: ${base64(ca)} }`,
      user: `{ token: s3cret, client-certificate-data: ${base64('cert')}, client-key-data: ${base64('k3y')} }`,
    });
    const { tls, user } = config!;
    expect(
      [tls.authorities, tls.identity?.certificate, tls.identity?.key].map(
        (pem) => pem?.kind === 'inline' && pem.text(),
      ),
    ).toEqual([ca, 'cert', 'k3y']);
    expect(user.kind === 'header' && user.authorization()).toBe('Bearer s3cret');
    expect(inspect(config, { depth: 10, showHidden: true }) + JSON.stringify(config)).not.toMatch(/s3cret|k3y/);
  });

  it('given basic authentication, then its header is sent', async () => {
    const { config } = await loadFile({ user: '{ username: me, password: pass }' });
    expect(config?.user.kind === 'header' && config.user.authorization()).toBe('Basic bWU6cGFzcw==');
  });

  it.each([
    ['a name without a password', 'username: me', 'Basic bWU6'],
    ['a password without a name', 'password: pass', 'Basic OnBhc3M='],
    ['a token beside a token file that is not there', 'token: t, tokenFile: /no/such', 'what is in /no/such'],
    ['an empty path of a token file', 'token: t, tokenFile: ""', 'Bearer t'],
    ['a key without a certificate', 'client-key-data: eA==', 'nothing'],
  ])('given %s, then the requests show it as those of client-go', async (_what, fields, shown) => {
    const { user, tls } = (await loadFile({ user: `{ ${fields} }` })).config!;
    const header = user.kind === 'header' ? user.authorization() : 'nothing';
    expect(user.kind === 'tokenFile' ? `what is in ${user.path}` : header).toBe(shown);
    expect(tls.identity).toBeUndefined();
  });

  it('given settings that are empty, then they are as good as absent', async () => {
    const { config } = await loadFile(
      {
        cluster:
          '{ server: "https://api", certificate-authority-data: "", certificate-authority: ca.crt, tls-server-name: "", proxy-url: "" }',
        user: '{ client-certificate: "", token: "", username: "", password: "", as: "" }',
      },
      { '/etc/kube/ca.crt': ca },
    );
    expect(config).toEqual({
      endpoint: { scheme: 'https', host: 'api', port: 443, basePath: '' },
      namespace: '',
      tls: { authorities: { kind: 'file', path: '/etc/kube/ca.crt' }, verify: 'server' },
      user: { kind: 'anonymous' },
    });
    const empty = await loadFile({ cluster: '{ server: "https://api", certificate-authority: "" }' });
    expect(empty.config?.tls).toEqual({ verify: 'server' });
  });

  const apiVersion = 'client.authentication.k8s.io/v1beta1';
  it.each([
    {
      exec: 'command: ./bin/login, args: [-x], env: [{ name: A, value: b }], installHint: dnf install login',
      plugin: {
        command: '/etc/kube/bin/login',
        args: ['-x'],
        env: [{ name: 'A', value: 'b' }],
        installHint: 'dnf install login',
      },
    },
    { exec: 'command: login, interactiveMode: Never', plugin: { command: 'login', args: [], env: [] } },
    {
      exec: 'command: /bin/login, args: null, env: null, interactiveMode: IfAvailable',
      plugin: { command: '/bin/login', args: [], env: [] },
    },
  ])(
    'given the exec plugin $exec, then its command, relative to the file if it is a path',
    async ({ exec, plugin }) => {
      const { config } = await loadFile({ user: `{ exec: { apiVersion: ${apiVersion}, ${exec} } }` });
      expect(config?.user).toEqual({ kind: 'plugin', plugin: { apiVersion, ...plugin } });
    },
  );

  it('given an exec plugin that requests the cluster, then it receives the settings of the file, including the authority', async () => {
    const exec = '{ apiVersion: client.authentication.k8s.io/v1, command: login, provideClusterInfo: true }';
    const { config } = await loadFile(
      {
        cluster: `{ server: "https://api:6443", certificate-authority: ca.crt, tls-server-name: kubernetes, proxy-url: "http://proxy",
          disable-compression: true,
          extensions: [null, { name: other, extension: 1 }, { name: client.authentication.k8s.io/exec, extension: { audience: us } }] }`,
        user: `{ exec: ${exec} }`,
      },
      { '/etc/kube/ca.crt': 'ca' },
    );
    expect(config?.user.kind === 'plugin' && config.user.plugin.cluster).toEqual({
      server: 'https://api:6443',
      'tls-server-name': 'kubernetes',
      'certificate-authority-data': Buffer.from('ca').toString('base64'),
      'proxy-url': 'http://proxy',
      'disable-compression': true,
      config: { audience: 'us' },
    });
    for (const extensions of ['', 'extensions: [{ name: other, extension: 1 }]']) {
      const unverified = await loadFile({
        cluster: `{ server: "https://api", insecure-skip-tls-verify: true, ${extensions} }`,
        user: `{ exec: ${exec} }`,
      });
      expect(unverified.config?.user.kind === 'plugin' && unverified.config.user.plugin.cluster).toEqual({
        server: 'https://api',
        'insecure-skip-tls-verify': true,
      });
    }
  });

  it('given an exec plugin beside a certificate or a token, then the plugin does not run', async () => {
    const exec = 'exec: { apiVersion: client.authentication.k8s.io/v1, command: login }';
    const certificate = await loadFile({
      user: `{ client-certificate-data: eA==, client-key-data: eA==, ${exec} }`,
    });
    expect([certificate.config?.user, certificate.config?.tls.identity?.key.kind]).toEqual([
      { kind: 'anonymous' },
      'inline',
    ]);
    const token = await loadFile({ user: `{ token: t, ${exec} }` });
    expect(token.config?.user.kind).toBe('header');
  });

  it('given insecure-skip-tls-verify, then nothing is verified', async () => {
    const { config } = await loadFile({ cluster: '{ server: "https://api", insecure-skip-tls-verify: true }' });
    expect(config?.tls.verify).toBe('nothing');
  });

  it('given --master, then it overrides the server of the file, and without a file it is the whole configuration', async () => {
    const overridden = await loadFile({ user: '{ token: t }' }, {}, 'https://other');
    expect([overridden.config?.endpoint.host, overridden.config?.user.kind]).toEqual(['other', 'header']);
    const completed = await loadFile(
      { cluster: '{ certificate-authority: ca.crt }' },
      { '/etc/kube/ca.crt': ca },
      'https://other',
    );
    expect(completed.config?.tls.authorities).toEqual({ kind: 'file', path: '/etc/kube/ca.crt' });
    const alone = await load({}, { master: '127.0.0.1:8080' });
    expect(alone.config).toEqual({
      endpoint: { scheme: 'http', host: '127.0.0.1', port: 8080, basePath: '' },
      tls: { verify: 'server' },
      user: { kind: 'anonymous' },
    });
  });

  it('given plain http, then no credentials are sent', async () => {
    const { config } = await loadFile({ cluster: '{ server: "http://localhost:8001" }', user: '{ token: t }' });
    expect(config?.user).toEqual({ kind: 'anonymous' });
  });

  const refused: readonly {
    readonly given: string;
    readonly parts: Parameters<typeof kubeconfig>[0];
    readonly then: string;
  }[] = [
    {
      given: 'a context that does not exist',
      parts: { context: 'there' },
      then: 'invalid configuration: [context was not found for specified context: there, cluster has no server defined]',
    },
    {
      given: 'no server',
      parts: { cluster: '{ tls-server-name: x }' },
      then: 'invalid configuration: no server found for cluster "c"',
    },
    {
      given: 'an empty server',
      parts: { cluster: '{ server: "", tls-server-name: x }' },
      then: 'invalid configuration: no server found for cluster "c"',
    },
    {
      given: 'a cluster without settings',
      parts: { cluster: '{}' },
      then: 'invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable',
    },
    {
      given: 'two authorities',
      parts: { cluster: '{ server: "https://api", certificate-authority: /ca, certificate-authority-data: eA== }' },
      then: 'invalid configuration: [certificate-authority-data and certificate-authority are both specified for c. certificate-authority-data will override., unable to read certificate-authority /ca for c due to open /ca: no such file or directory]',
    },
    {
      given: 'a certificate and a key, each of them twice, in files that are not there',
      parts: {
        user: '{ client-certificate: /c, client-certificate-data: eA==, client-key: /k, client-key-data: eA== }',
      },
      then: `invalid configuration: [${[
        'client-cert-data and client-cert are both specified for u. client-cert-data will override.',
        'client-key-data and client-key are both specified for u; client-key-data will override',
        'unable to read client-cert /c for u due to open /c: no such file or directory',
        'unable to read client-key /k for u due to open /k: no such file or directory',
      ].join(', ')}]`,
    },
    {
      given: 'the file of a certificate without a key',
      parts: { user: '{ client-certificate: config }' },
      then: 'invalid configuration: client-key-data or client-key must be specified for u to use the clientCert authentication method.',
    },
    {
      given: 'a token and a password',
      parts: { user: '{ token: t, password: p }' },
      then: 'invalid configuration: more than one authentication method found for u; found [token basicAuth], only one is allowed',
    },
    {
      given: 'an authority that is not there',
      parts: { cluster: '{ server: "https://api", certificate-authority: ca.crt }' },
      then: 'invalid configuration: unable to read certificate-authority /etc/kube/ca.crt for c due to open /etc/kube/ca.crt: no such file or directory',
    },
    {
      given: 'a certificate without a key',
      parts: { user: '{ client-certificate-data: eA== }' },
      then: 'invalid configuration: client-key-data or client-key must be specified for u to use the clientCert authentication method.',
    },
    {
      given: 'two ways to authenticate',
      parts: { user: '{ token: t, username: u }' },
      then: 'invalid configuration: more than one authentication method found for u; found [token basicAuth], only one is allowed',
    },
    {
      given: 'a plugin without command and version',
      parts: { user: '{ exec: {} }' },
      then: 'invalid configuration: [command must be specified for u to use exec authentication plugin, apiVersion must be specified for u to use exec authentication plugin]',
    },
    {
      given: 'a plugin with an invalid environment',
      parts: {
        user: '{ exec: { apiVersion: v1, command: login, env: [{ value: x }], interactiveMode: Sometimes } }',
      },
      then: 'invalid configuration: [env variable name must be specified for u to use exec authentication plugin, invalid interactiveMode for u: "Sometimes"]',
    },
    {
      given: 'a plugin of a version that is not known',
      parts: { user: '{ exec: { apiVersion: client.authentication.k8s.io/v1alpha1, command: login } }' },
      then: 'exec plugin: invalid apiVersion "client.authentication.k8s.io/v1alpha1"',
    },
    {
      given: 'a plugin and an auth provider',
      parts: {
        user: '{ auth-provider: { name: oidc }, exec: { apiVersion: client.authentication.k8s.io/v1, command: login } }',
      },
      then: 'invalid configuration: authProvider cannot be provided in combination with an exec plugin for u',
    },
    {
      given: 'an auth provider',
      parts: { user: '{ auth-provider: { name: gcp } }' },
      then: 'no Auth Provider found for name "gcp"',
    },
    {
      given: 'an auth provider without a name',
      parts: { user: '{ auth-provider: {} }' },
      then: 'no Auth Provider found for name ""',
    },
    {
      given: 'a plugin that needs interactive input',
      parts: { user: '{ exec: { apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always } }' },
      then: 'exec plugin cannot support interactive mode: standard input is not a terminal',
    },
    {
      given: 'impersonation',
      parts: { user: '{ as: admin }' },
      then: 'impersonation (`as` in the kubeconfig) is not supported',
    },
    {
      given: 'a token file that is not there',
      parts: { user: '{ tokenFile: token }' },
      then: 'open /etc/kube/token: no such file or directory',
    },
    {
      given: 'an authority although nothing is verified',
      parts: { cluster: '{ server: "https://api", insecure-skip-tls-verify: true, certificate-authority-data: eA== }' },
      then: 'specifying a root certificates file with the insecure flag is not allowed',
    },
    {
      given: 'a proxy that cannot be used, with a password in its address',
      parts: { cluster: '{ server: "https://api", proxy-url: "socks5://u:s3cret@p" }' },
      then: `invalid configuration: invalid 'proxy-url' for cluster "c": proxies of type socks5 are not supported`,
    },
  ];
  it.each(refused)('given $given, then it is refused with the text of client-go', async ({ parts, then }) => {
    const { error } = await loadFile(parts);
    expect(error?.replace(/^\w+: /, '')).toBe(then);
  });

  it('given errors that client-go ignores, in unused entries and elsewhere, then we ignore them too', async () => {
    const { config, error } = await load(
      {
        '/k': `
current-context: here
contexts: [null, { name: empty }, { name: here, context: { cluster: c, user: u, namespace: null } }]
clusters: [{}, { name: none, cluster: null }, { name: odd, cluster: { server: 7 } }, { name: c, cluster: { server: "https://api", proxy-url: null } }]
users: [{ name: unused }, { name: u, user: { token-file: /no/such, username: null, client-key: null, exec: null } }]
preferences: {}
---
current-context: elsewhere
`,
      },
      { kubeconfig: '/k' },
    );
    expect([config?.endpoint.host, config?.user, error]).toEqual(['api', { kind: 'anonymous' }, undefined]);
  });

  it('given a file that does not exist, or is no YAML or no mapping, then the error names it and quotes nothing, in a pod too', async () => {
    const missing = await load({}, { kubeconfig: '/no/such' });
    expect(missing.error).toBe('Error: stat /no/such: no such file or directory');
    const broken = await load({ '/k': 'token: "s3cret\n', [`${folder}/token`]: 't' }, { kubeconfig: '/k' }, pod);
    expect(broken.error).toBe('Error: error loading config file "/k": deficient indentation (2:1)');
    const text = await load({ '/k': 's3cret' }, { kubeconfig: '/k' });
    expect(text.error).toBe('Error: error loading config file "/k": it is not a mapping');
    const read = () => Promise.reject(new FileError('/k', 'EACCES'));
    const unreadable = loadClusterConfig({ files: { read }, env: {}, logger: recordingLogger() }, { kubeconfig: '/k' });
    await expect(unreadable).rejects.toThrow('error loading config file "/k": open /k: permission denied');
  });

  it('given an empty file, then everything in it is empty', async () => {
    expect(await readKubeconfig(memoryFiles({ '/k': '' }), { paths: ['/k'] })).toEqual({
      contextName: '',
      namespace: '',
      cluster: { name: '', server: '', skipTLSVerify: false },
      user: { name: '' },
    });
  });

  it('given an empty file, then the in-cluster configuration is used where there is one', async () => {
    for (const outside of [
      await load({ '/k': '', [`${folder}/token`]: 't' }, { kubeconfig: '/k' }),
      await load({ '/k': '' }, { kubeconfig: '/k' }, pod),
    ]) {
      expect(outside.error).toBe(
        'EmptyConfigError: invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable',
      );
    }
    const inside = await load(
      { '/k': '', [`${folder}/token`]: 't', [`${folder}/ca.crt`]: ca },
      { kubeconfig: '/k' },
      pod,
    );
    expect(inside.config?.endpoint.host).toBe('10.96.0.1');
  });
});
