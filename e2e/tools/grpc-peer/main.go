// SPDX-License-Identifier: Apache-2.0

// grpc-peer is the other end in the conformance suite of our gRPC: grpc-go in both roles, without generated code. The messages
// are those of the suite's one method, /test.Echo/Say: string text = 1, which is what wrapperspb.StringValue has.
//
//	grpc-peer serve SOCKET           answers every request with its text; a text "fail CODE why" fails with it
//	grpc-peer call SOCKET COUNT SIZE makes COUNT calls of SIZE bytes side by side, and checks the answers
//	grpc-peer decode DESCRIPTORS     judges messages: lines "TYPE BASE64" in, "refused" or the message as Go writes it out
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const method = "/test.Echo/Say"

func main() {
	var err error
	switch os.Args[1] {
	case "serve":
		err = serve(os.Args[2])
	case "call":
		err = call(os.Args[2], number(os.Args[3]), number(os.Args[4]))
	case "decode":
		err = decode(os.Args[2])
	default:
		err = fmt.Errorf("no such role: %s", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func serve(socket string) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	handler := func(_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		request := &wrapperspb.StringValue{}
		if err := read(request); err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(request.Value, "fail "); ok {
			code, why, _ := strings.Cut(rest, " ")
			return nil, status.Error(codes.Code(number(code)), why)
		}
		return request, nil
	}
	server := grpc.NewServer(grpc.MaxConcurrentStreams(10))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: handler}},
	}, struct{}{})
	go func() {
		// Ends when the suite does: it holds the other end of the pipe.
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		server.GracefulStop()
	}()
	fmt.Println("serving")
	return server.Serve(listener)
}

func call(socket string, count, size int) error {
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	failures := make(chan error, count)
	var calls sync.WaitGroup
	for i := range count {
		calls.Go(func() {
			text := strings.Repeat("x", size) + strconv.Itoa(i)
			answer := &wrapperspb.StringValue{}
			if err := connection.Invoke(ctx, method, wrapperspb.String(text), answer); err != nil {
				failures <- err
			} else if answer.Value != text {
				failures <- fmt.Errorf("call %d: another answer", i)
			}
		})
	}
	calls.Wait()
	close(failures)
	err = connection.Invoke(ctx, "/test.Echo/None", wrapperspb.String(""), &wrapperspb.StringValue{})
	if got := status.Code(err); got != codes.Unimplemented {
		return fmt.Errorf("an unknown method: %v", err)
	}
	return <-failures
}

func decode(path string) error {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(bytes, set); err != nil {
		return err
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		name, encoded, _ := strings.Cut(lines.Text(), " ")
		found, err := files.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			return err
		}
		content, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return err
		}
		message := dynamicpb.NewMessage(found.(protoreflect.MessageDescriptor))
		if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(content, message) != nil {
			fmt.Fprintln(out, "refused")
			continue
		}
		canonical, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, base64.StdEncoding.EncodeToString(canonical))
	}
	return lines.Err()
}
