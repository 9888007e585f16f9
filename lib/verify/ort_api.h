// Private to lib/verify: the entries of ONNX Runtime's C function table that are used. The wheel
// ships no header, so the table is read by position. Positions never change within the C API's
// first major version; onnxruntime_c_api.h, struct OrtApi, is the reference.
#pragma once

#include <cstddef>
#include <cstdint>

namespace oe::verify::ort {

// External data from memory, the last entry that is used, came with version 18 (ONNX Runtime 1.18).
inline constexpr uint32_t kApiVersion = 18;

struct Status;
struct Env;
struct SessionOptions;
struct RunOptions;
struct Session;
struct Value;
struct MemoryInfo;
struct Allocator;
struct TensorInfo;
struct CudaOptions;

enum LogLevel : int { kLogFatal = 4 };
enum OptimizationLevel : int { kOptimizeNothing = 0, kOptimizeAll = 99 };
enum AllocatorType : int { kDeviceAllocator = 0 };
enum MemoryType : int { kMemoryDefault = 0 };
enum ValueType : int { kUnknown, kTensor, kSequence, kMap, kOpaque, kSparseTensor, kOptional };
using ElementType = int;  // onnx.TensorProto.DataType, as oe::DType

// Position in OrtApi and signature. Functions that give a Status* give null on success.
template <int position, class Signature>
struct Entry;
template <int position, class R, class... A>
struct Entry<position, R(A...)> {
  void* const* table;
  R operator()(A... a) const { return reinterpret_cast<R (*)(A...)>(table[position])(a...); }
};

struct Api {
  void* const* t;  // OrtApi seen as an array of function pointers

  Entry<2, const char*(const Status*)> GetErrorMessage{t};
  Entry<3, Status*(LogLevel, const char* id, Env**)> CreateEnv{t};
  Entry<6, Status*(const Env*)> DisableTelemetryEvents{t};
  Entry<8, Status*(const Env*, const void*, size_t, const SessionOptions*, Session**)>
      CreateSessionFromArray{t};
  Entry<9, Status*(Session*, const RunOptions*, const char* const* input_names,
                   const Value* const* inputs, size_t, const char* const* output_names, size_t,
                   Value** outputs)>
      Run{t};
  Entry<10, Status*(SessionOptions**)> CreateSessionOptions{t};
  Entry<19, Status*(SessionOptions*)> DisableCpuMemArena{t};
  Entry<22, Status*(SessionOptions*, int)> SetSessionLogSeverityLevel{t};
  Entry<23, Status*(SessionOptions*, OptimizationLevel)> SetSessionGraphOptimizationLevel{t};
  Entry<24, Status*(SessionOptions*, int)> SetIntraOpNumThreads{t};
  Entry<30, Status*(const Session*, size_t*)> SessionGetInputCount{t};
  Entry<31, Status*(const Session*, size_t*)> SessionGetOutputCount{t};
  Entry<36, Status*(const Session*, size_t, Allocator*, char**)> SessionGetInputName{t};
  Entry<37, Status*(const Session*, size_t, Allocator*, char**)> SessionGetOutputName{t};
  Entry<48, Status*(Allocator*, const int64_t* dims, size_t, ElementType, Value**)>
      CreateTensorAsOrtValue{t};
  Entry<49, Status*(const MemoryInfo*, void* data, size_t bytes, const int64_t* dims, size_t,
                    ElementType, Value**)>
      CreateTensorWithDataAsOrtValue{t};
  Entry<51, Status*(Value*, void**)> GetTensorMutableData{t};
  Entry<52, Status*(Value*, const char* const* strings, size_t)> FillStringTensor{t};
  Entry<60, Status*(const TensorInfo*, ElementType*)> GetTensorElementType{t};
  Entry<61, Status*(const TensorInfo*, size_t*)> GetDimensionsCount{t};
  Entry<62, Status*(const TensorInfo*, int64_t*, size_t)> GetDimensions{t};
  Entry<65, Status*(const Value*, TensorInfo**)> GetTensorTypeAndShape{t};
  Entry<67, Status*(const Value*, ValueType*)> GetValueType{t};
  Entry<69, Status*(AllocatorType, MemoryType, MemoryInfo**)> CreateCpuMemoryInfo{t};
  Entry<76, Status*(Allocator*, void*)> AllocatorFree{t};
  Entry<78, Status*(Allocator**)> GetAllocatorWithDefaultOptions{t};
  Entry<80, Status*(const Value*, int index, Allocator*, Value**)> GetValue{t};
  Entry<81, Status*(const Value*, size_t*)> GetValueCount{t};
  Entry<82, Status*(const Value* const*, size_t, ValueType, Value**)> CreateValue{t};
  Entry<92, void(Env*)> ReleaseEnv{t};
  Entry<93, void(Status*)> ReleaseStatus{t};
  Entry<94, void(MemoryInfo*)> ReleaseMemoryInfo{t};
  Entry<95, void(Session*)> ReleaseSession{t};
  Entry<96, void(Value*)> ReleaseValue{t};
  Entry<99, void(TensorInfo*)> ReleaseTensorTypeAndShapeInfo{t};
  Entry<100, void(SessionOptions*)> ReleaseSessionOptions{t};
  Entry<125, Status*(char*** names, int* count)> GetAvailableProviders{t};
  Entry<126, Status*(char** names, int count)> ReleaseAvailableProviders{t};
  Entry<127, Status*(const Value*, size_t index, size_t*)> GetStringTensorElementLength{t};
  Entry<128, Status*(const Value*, size_t bytes, size_t index, void*)> GetStringTensorElement{t};
  Entry<130, Status*(SessionOptions*, const char* key, const char* value)> AddSessionConfigEntry{t};
  Entry<192, Status*(const Value*, int*)> HasValue{t};
  Entry<204, Status*(SessionOptions*, const CudaOptions*)>
      SessionOptionsAppendExecutionProvider_CUDA_V2{t};
  Entry<205, Status*(CudaOptions**)> CreateCUDAProviderOptions{t};
  Entry<206, Status*(CudaOptions*, const char* const* keys, const char* const* values, size_t)>
      UpdateCUDAProviderOptions{t};
  Entry<208, void(CudaOptions*)> ReleaseCUDAProviderOptions{t};
  // The files' content by the location that the model states; it is copied while the session is
  // made.
  Entry<279, Status*(SessionOptions*, const char* const* locations, char* const* contents,
                     const size_t* bytes, size_t)>
      AddExternalInitializersFromFilesInMemory{t};
};

// What the exported OrtGetApiBase() gives.
struct ApiBase {
  void* const* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

}  // namespace oe::verify::ort
